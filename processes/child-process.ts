/**
 * The body of a child process (control plane, signalling or worker): it reports to its supervisor that it is
 * ready and alive, drains and closes on request, and ends when its supervisor is gone. Started alone, it
 * obeys signals instead.
 */
import { flushCompileCache } from 'node:module';
import { systemClock } from '#base/clock.ts';
import { collectGarbageAtRest } from '#base/garbage.ts';
import type { Logger } from '#base/log.ts';
import { platformWarning } from '#base/platform.ts';
import { activityDescriptor, activityWriter, aliveDescriptor, noteAlive } from './activity-file.ts';
import { giveSignsOfLife } from './signs-of-life.ts';
import type { ChildMessage, SupervisorMessage, WorkerDeath } from './supervisor.ts';

/** The services of a running process. */
export interface ManagedProcess {
  /** Facts for the supervisor: ports, numbers, engines. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Printed if the process was started alone. */
  readonly lines: readonly string[];
  /** Accepts no new work; resolves when the running work has ended. */
  drain(): Promise<void>;
  /** Releases everything. Idempotent. */
  close(): Promise<void>;
  /**
   * Whether it has no work that a hang would interrupt at once, so that it gives fewer signs of life and may
   * collect its garbage. Absent: it always may have.
   */
  isAtRest?(): boolean;
  /** The supervisor reports the end of a worker's process (control plane only). */
  workerDied?(death: WorkerDeath): void;
}

/**
 * A terminal sends Ctrl-C to the whole group and people press it twice: a repetition this soon counts as the
 * same signal.
 */
export const SAME_SIGNAL_MS = 2_000;

/**
 * Runs a process until it is stopped; never returns. `start` gets a function that records what the process is
 * doing.
 */
export async function runProcess(
  logger: Logger,
  start: (noteActivity: (what: string) => void) => Promise<ManagedProcess>,
): Promise<never> {
  const isSupervised = process.send !== undefined;
  const alive = aliveDescriptor(process.env);
  const report = (message: ChildMessage) => process.send?.(message, () => undefined);
  let running: ManagedProcess | null = null;
  if (isSupervised) {
    process.on('disconnect', () => process.exit(1));
    // Messages are not dated: those of a process at rest come as often as of one that works.
    const isAtRest = () => alive !== null && (running?.isAtRest?.() ?? false);
    giveSignsOfLife(systemClock, isAtRest, (atMs) => {
      if (!noteAlive(alive, atMs)) report({ type: 'alive' });
    });
  }
  if (platformWarning !== null) logger.warn(platformWarning);
  // An unhandled rejection must not end every call of the process.
  process.on('unhandledRejection', (error) => logger.error({ err: error }, 'unhandled rejection'));
  const services = await start(activityWriter(activityDescriptor(process.env)));
  running = services;
  // Now, because a killed process would save nothing; after the first start there is nothing to write.
  flushCompileCache();
  collectGarbageAtRest(systemClock, () => services.isAtRest?.() ?? false);
  let drained: Promise<void> | null = null;
  const drain = () => {
    drained ??= services.drain();
    return drained;
  };
  let isStopping = false;
  const stop = () => {
    if (isStopping) return;
    isStopping = true;
    drain()
      .then(() => services.close())
      .then(
        () => process.exit(0),
        (error: unknown) => {
          logger.error({ err: error }, 'the process could not close its services; exiting');
          process.exit(1);
        },
      );
  };
  process.on('message', (message: SupervisorMessage) => {
    if (message.type === 'worker_died') services.workerDied?.(message);
    else if (services.facts['outlivesDrain'] === true) void drain();
    else stop();
  });
  if (isSupervised) {
    process.on('SIGTERM', stop);
    // The supervisor decides, even if Ctrl-C reached this process too.
    process.on('SIGINT', () => undefined);
  } else {
    onStopSignal({ first: stop, second: () => process.exit(1) });
    for (const line of services.lines) console.log(line);
  }
  report({ type: 'ready', facts: services.facts });
  return new Promise<never>(() => undefined);
}

/**
 * Calls `first` on SIGTERM or SIGINT, and `second` on a further one that is not a repetition of the same
 * signal.
 */
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
