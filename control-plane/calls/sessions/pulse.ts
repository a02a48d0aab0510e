/**
 * Heartbeat of a control plane: stores when the process was last alive, even if it crashes. Its successor
 * uses this so that no call is charged for unsupervised time.
 */
import { closeSync, openSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';

/** The time of the last beat, stored as a file's modification time. */
export interface Pulse {
  /** The last beat of an earlier process with this data directory; null on the first start. */
  readonly lastBeat: Date | null;
  /** Records that this process is alive. Throws when the data directory cannot be written. */
  beat(at: Date): void;
}

/** Opens the heartbeat file of a data directory. */
export function openPulse(dataDir: string): Pulse {
  const file = join(dataDir, 'pulse');
  const lastBeat = statSync(file, { throwIfNoEntry: false })?.mtime ?? null;
  closeSync(openSync(file, 'a', 0o600));
  return { lastBeat, beat: (at) => utimesSync(file, at, at) };
}
