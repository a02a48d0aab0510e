/**
 * Runs background work that never overlaps with itself and never misses a request: a `kick` during a run
 * triggers another run.
 */
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { Models } from '../store/models.ts';
import { outsideRequest } from '../store/request-wait.ts';
import type { WorkKind, WorkSignals } from './work-signals.ts';

/** A background task of one process. */
export interface BackgroundLoop {
  /** Requests a run: there may be work to do. */
  kick(): void;
  /** Resolves once no run is in progress. */
  idle(): Promise<void>;
  /** Starts no new run and resolves when the current one has finished. */
  close(): Promise<void>;
}

/** Creates a loop around `work`. Errors are logged; the next kick tries again. */
export function createBackgroundLoop(
  name: string,
  logger: Logger,
  work: () => Promise<void>,
): BackgroundLoop {
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
      // A request that kicks it does not wait for it.
      current = outsideRequest(run);
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
 * Longest time without a run. For example, a write that was answered with an error and yet took effect later
 * is not counted.
 */
const MOST_LEFT_OUT_MS = 60_000;

/** Dependencies of a background loop. */
export interface BackgroundContext {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly workSignals: WorkSignals;
  /**
   * Number of this process's writes to the store so far, of all models or of those named; absent if other
   * processes write to it, too.
   */
  readonly storeWrites?: ((names?: readonly (keyof Models)[]) => number) | undefined;
}

/** Options of a background loop. */
interface BackgroundOptions {
  readonly name: string;
  readonly everyMs: number;
  readonly chore?: WorkKind;
  /** Whether no later run can have anything to do before the next write to the store. */
  readonly isDone?: () => Promise<boolean>;
  /** Only writes of these models can give a run something to do; absent: those of any model. */
  readonly waitsFor?: readonly (keyof Models)[];
  /** Called after each run, and instead of one that is left out. */
  readonly always?: () => void;
}

/**
 * Creates a loop that runs immediately, then every `everyMs` and whenever its `signal` is notified, until it
 * is closed. A run is left out if the last one was less than a minute ago and nothing that it `waitsFor` has
 * been written since `isDone` was true; after a write `isDone` is asked again, which costs less than a run.
 * Where other processes write to the store, no run is left out.
 */
export function startBackgroundLoop(
  context: BackgroundContext,
  options: BackgroundOptions,
  work: () => Promise<void>,
): BackgroundLoop {
  const writes = () => context.storeWrites?.(options.waitsFor) ?? null;
  let ranMs = Number.NEGATIVE_INFINITY;
  let writesWhenDone: number | null = null;
  /** A write during the question counts as one after it. */
  const isLeftOut = async () => {
    const before = writes();
    if (before === null || context.clock.now() - ranMs >= MOST_LEFT_OUT_MS) return false;
    if (writesWhenDone !== before) writesWhenDone = (await options.isDone?.()) ? before : null;
    return writesWhenDone !== null;
  };
  const loop = createBackgroundLoop(options.name, context.logger, async () => {
    if (!(await isLeftOut())) {
      writesWhenDone = null;
      await work();
      ranMs = context.clock.now();
    }
    options.always?.();
  });
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
