/**
 * The heartbeat file of a control plane: records when the process was last alive, even if it crashes, so that
 * its successor charges no call for unsupervised time.
 */
import { closeSync, openSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';

/** The time of the last heartbeat, stored as the file's modification time. */
export interface HeartbeatFile {
  /** The last heartbeat of an earlier process with this data directory; null on the first start. */
  readonly lastBeat: Date | null;
  /** Records that this process is alive. Throws when the data directory cannot be written. */
  beat(at: Date): void;
}

/** Opens the heartbeat file of a data directory. */
export function openHeartbeatFile(dataDir: string): HeartbeatFile {
  const file = join(dataDir, 'pulse');
  const lastBeat = statSync(file, { throwIfNoEntry: false })?.mtime ?? null;
  closeSync(openSync(file, 'a', 0o600));
  return { lastBeat, beat: (at) => utimesSync(file, at, at) };
}
