/**
 * How one part of the program (control plane, signalling or worker) lives as a process: it tells its
 * supervisor that it is ready and alive, drains and closes when told to, and ends when its supervisor is
 * gone. Started alone, it obeys signals instead.
 */
import { flushCompileCache } from 'node:module';
import type { Logger } from '#base/log.ts';
import { activityDescriptor, activityWriter } from './activity-file.ts';
import type { ChildMessage, SupervisorMessage, WorkerDeath } from './supervisor.ts';

/** A running part. */
export interface ManagedProcess {
  /** Told to the supervisor: ports, numbers, engines. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Printed for the person who started this part alone. */
  readonly lines: readonly string[];
  /** Takes nothing new; resolves when what was running has ended. */
  drain(): Promise<void>;
  /** Releases everything. Idempotent. */
  close(): Promise<void>;
  /** The supervisor saw a worker's process end (control plane only). */
  workerDied?(death: WorkerDeath): void;
}

const ALIVE_MS = 500;
/**
 * A terminal sends Ctrl-C to the whole group and people press it twice: a repeat this soon is the same
 * signal.
 */
export const SAME_SIGNAL_MS = 2_000;

/**
 * Runs one part until it is stopped; never returns. `start` is handed what it tells with what the process is
 * doing.
 */
export async function runProcess(
  logger: Logger,
  start: (noteActivity: (what: string) => void) => Promise<ManagedProcess>,
): Promise<never> {
  const isSupervised = process.send !== undefined;
  const tell = (message: ChildMessage) => process.send?.(message, () => undefined);
  if (isSupervised) {
    process.on('disconnect', () => process.exit(1));
    setInterval(() => tell({ type: 'alive' }), ALIVE_MS);
  }
  // One forgotten rejection must not take every call of the process with it.
  process.on('unhandledRejection', (error) => logger.error({ err: error }, 'unhandled rejection'));
  const part = await start(activityWriter(activityDescriptor(process.env)));
  // Now, as a killed process would keep nothing; after the first start there is nothing to write.
  flushCompileCache();
  let drained: Promise<void> | null = null;
  const drain = () => {
    drained ??= part.drain();
    return drained;
  };
  let isStopping = false;
  const stop = () => {
    if (isStopping) return;
    isStopping = true;
    drain()
      .then(() => part.close())
      .then(
        () => process.exit(0),
        (error: unknown) => {
          logger.error({ err: error }, 'could not stop cleanly');
          process.exit(1);
        },
      );
  };
  process.on('message', (message: SupervisorMessage) => {
    if (message.type === 'worker_died') part.workerDied?.(message);
    else if (part.facts['outlivesDrain'] === true) void drain();
    else stop();
  });
  if (isSupervised) {
    process.on('SIGTERM', stop);
    // The supervisor decides; a Ctrl-C that reached this process too is its business.
    process.on('SIGINT', () => undefined);
  } else {
    onStopSignal({ first: stop, second: () => process.exit(1) });
    for (const line of part.lines) console.log(line);
  }
  tell({ type: 'ready', facts: part.facts });
  return new Promise<never>(() => undefined);
}

/** Calls `first` on SIGTERM or SIGINT, and `second` on another one that is not the same signal repeated. */
export function onStopSignal(handlers: { first(): void; second(): void }): void {
  let firstMs: number | null = null;
  const onSignal = () => {
    const now = performance.now();
    if (firstMs === null) {
      firstMs = now;
      handlers.first();
    } else if (now - firstMs > SAME_SIGNAL_MS) handlers.second();
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}
