/**
 * `ChoreLoop`: background work that never runs twice at once and never misses a call: kicked while it runs,
 * it runs again.
 */
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { Chore, WorkSignals } from './work-signals.ts';

/** Work in the background of one process. */
export interface ChoreLoop {
  /** There may be something to do. */
  kick(): void;
  /** Resolves when nothing runs. */
  idle(): Promise<void>;
  /** Starts nothing new and resolves when what runs is over. */
  close(): Promise<void>;
}

/** Makes a loop around `work`; what it throws is logged, and the next kick tries again. */
export function createChoreLoop(name: string, logger: Logger, work: () => Promise<void>): ChoreLoop {
  let isRunning = false;
  let isKickedAgain = false;
  let isClosed = false;
  let current: Promise<void> = Promise.resolve();

  async function run(): Promise<void> {
    try {
      do {
        isKickedAgain = false;
        await work();
      } while (isKickedAgain && !isClosed);
    } catch (error) {
      logger.error({ err: error, chore: name }, 'background work failed');
    } finally {
      isRunning = false;
    }
  }

  return {
    kick() {
      if (isClosed) return;
      isKickedAgain = true;
      if (isRunning) return;
      isRunning = true;
      current = run();
    },
    async idle() {
      while (isRunning) await current;
    },
    async close() {
      isClosed = true;
      await current;
    },
  };
}

/**
 * Makes a loop that runs at once, then every `everyMs`, and when `chore` is signalled, until it is closed.
 */
export function startChoreLoop(
  context: { readonly clock: Clock; readonly logger: Logger; readonly workSignals: WorkSignals },
  options: { readonly name: string; readonly everyMs: number; readonly chore?: Chore },
  work: () => Promise<void>,
): ChoreLoop {
  const loop = createChoreLoop(options.name, context.logger, work);
  const stopListening = options.chore === undefined ? null : context.workSignals.on(options.chore, loop.kick);
  const tick = context.clock.every(options.everyMs, loop.kick);
  loop.kick();
  return {
    ...loop,
    async close() {
      tick.cancel();
      stopListening?.();
      await loop.close();
    },
  };
}
