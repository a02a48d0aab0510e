/**
 * Notices the death of a worker that no supervisor reports, because it was started alone or because its
 * machine is lost: other workers then take over its calls. Every replica looks; the first one to claim a
 * death acts on it.
 */
import { SILENCE_REPORTED_MS } from '#protocol/worker-watch.ts';
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import type { Context } from '../../platform/context.ts';
import type { ReportSink } from '../../platform/report-sink.ts';
import { type Sightings, WorkerSightings } from '../../platform/store/worker-sightings.ts';
import type { ConnectedWorkers } from './connected-workers.ts';
import { type DeadWorker, DeathEvidence } from './death-evidence.ts';
import type { WorkerDispatch } from './worker-dispatch.ts';

const LOOK_MS = 1_000;
/** A replica that dies after its claim leaves the calls to the next one. */
const CLAIM_MS = 15_000;
/** Longer than signalling reports a silent worker. */
const DONE_MS = SILENCE_REPORTED_MS + 30_000;
const RELEASE_MS = 1;
const NOTHING: Sightings = { workers: new Set(), signalling: [], listedAt: () => null };

/** Dependencies of the watch. */
export interface DeathWatchDeps {
  /** Other replicas may work on the same database. */
  readonly hasOthers: boolean;
  readonly dispatch: Pick<WorkerDispatch, 'isConnected' | 'hasWorker'>;
  readonly workers: Pick<ConnectedWorkers, 'silences'>;
  readonly sink: Pick<ReportSink, 'workerDead'>;
}

/** Starts the watch. */
export function startDeathWatch(context: Context, deps: DeathWatchDeps): BackgroundLoop {
  const { clock, coordination, logger, signallingReports } = context;
  const { dispatch, sink, workers } = deps;
  const sightings = new WorkerSightings(context);
  const evidence = new DeathEvidence();
  /** Deaths that need no further work here. */
  const handled = new Set<string>();
  const underWay = new Map<string, Promise<void>>();

  async function handle({ id, aliveMs }: DeadWorker): Promise<void> {
    if (!(await coordination.claim(`death:${id}`, CLAIM_MS))) return;
    logger.warn(
      { instanceId: id, silentMs: Math.round(clock.now() - aliveMs) },
      'a worker is dead: neither control planes nor signalling hear it; other workers take over its calls',
    );
    let isBack = false;
    await sink.workerDead(id, new Date(clock.wallTime() - (clock.now() - aliveMs)), null, async () => {
      const isHeard = dispatch.isConnected(id) || (deps.hasOthers && (await sightings.hasSince(id)));
      isBack = isHeard || !evidence.dead().some((one) => one.id === id);
      return !isBack;
    });
    if (isBack) {
      logger.info({ instanceId: id }, 'the worker is back: it keeps its calls');
      await coordination.prolong(`death:${id}`, RELEASE_MS);
      return;
    }
    handled.add(id);
    // Until signalling no longer reports the worker: it would be dead for the other replicas, too.
    await coordination.prolong(`death:${id}`, DONE_MS);
  }

  const loop = startBackgroundLoop(context, { name: 'deaths', everyMs: LOOK_MS }, async () => {
    const { workers: all, signalling } = deps.hasOthers ? await sightings.look() : NOTHING;
    const silences = workers.silences();
    // The list is seconds old: a worker connected here is judged by its own link.
    const listed = [...all].filter((id) => !silences.has(id));
    const reports = [...signallingReports.current(), ...signalling];
    evidence.note({ silences, listed, signalling: reports }, clock.now());
    const dead = evidence.dead();
    for (const id of handled) {
      if (dead.some((one) => one.id === id)) continue;
      handled.delete(id);
      // It is back, and may die once more.
      await coordination.prolong(`death:${id}`, RELEASE_MS);
    }
    for (const one of dead) {
      // A replica without workers leaves the calls to one that has some.
      if (
        handled.has(one.id) ||
        underWay.has(one.id) ||
        dispatch.isConnected(one.id) ||
        !dispatch.hasWorker()
      )
        continue;
      const work = handle(one)
        .catch((error: unknown) => logger.error({ err: error, instanceId: one.id }, 'a death of a worker'))
        .finally(() => underWay.delete(one.id));
      underWay.set(one.id, work);
    }
  });
  return {
    ...loop,
    idle: async () => {
      await loop.idle();
      await Promise.all(underWay.values());
    },
    close: async () => {
      await loop.close();
      await Promise.all(underWay.values());
    },
  };
}
