/**
 * The pulse of a control plane: when it was last alive, known to its successor however it ended, so that no
 * call is charged for the time in which nobody saw it.
 */
import { closeSync, openSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';

/** The time of the last beat, kept as a file's. */
export interface Pulse {
  /** When an earlier process of this data directory was last alive; null at its first start. */
  readonly lastBeat: Date | null;
  /** This process is alive. Throws when the data directory cannot be written. */
  beat(at: Date): void;
}

/** Opens the pulse of a data directory. */
export function openPulse(dataDir: string): Pulse {
  const file = join(dataDir, 'pulse');
  const lastBeat = statSync(file, { throwIfNoEntry: false })?.mtime ?? null;
  closeSync(openSync(file, 'a', 0o600));
  return { lastBeat, beat: (at) => utimesSync(file, at, at) };
}
