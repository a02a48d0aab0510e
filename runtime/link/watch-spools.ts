/**
 * Workers of one machine that share a DATA_DIR watch each other's spools. The kernel releases the lock of one
 * that dies, which proves its death at once: the others need not conclude it from silence. Supervised workers
 * are left to their supervisor, which knows the cause.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { adoptSpools, type Spool } from './spool.ts';

const LOOK_MS = 250;

/** Dependencies of the watch. */
export interface SpoolWatchDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Folder of the spools. */
  readonly root: string;
  /** Of this worker. */
  readonly instanceId: string;
  /** Receives the spools of workers that have ended, by instance. */
  onLeft(spools: ReadonlyMap<string, Spool>): void;
}

/** Warns once of each spool that cannot be used. */
export function warnOfSpools(logger: Logger): (name: string, error: unknown) => void {
  const unusable = new Set<string>();
  return (name, error) => {
    if (!unusable.has(name)) logger.warn({ err: error, name }, 'a spool cannot be used');
    unusable.add(name);
  };
}

/** Starts the watch. */
export function watchSpools({ clock, logger, root, instanceId, onLeft }: SpoolWatchDeps): Timer {
  let isLooking = false;
  const onUnusable = warnOfSpools(logger);
  const look = async () => {
    const left = await adoptSpools(root, { own: instanceId, watches: true, onUnusable });
    if (left.size > 0) onLeft(left);
  };
  return clock.every(LOOK_MS, () => {
    if (isLooking) return;
    isLooking = true;
    look()
      .catch((error: unknown) => logger.warn({ err: error }, 'spools of other workers'))
      .finally(() => {
        isLooking = false;
      });
  });
}
