/**
 * Detects lost workers in deployments with several replicas: sessions become `unknown` only if their worker
 * has given no sign of life to any replica, and `active` again when it has. A broken link alone proves
 * nothing, since the worker may be connected to another replica; neither does silence on Redis.
 */
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import type { Context } from '../../platform/context.ts';
import type { ReportSink } from '../../platform/report-sink.ts';
import { WorkerSightings } from '../../platform/store/worker-sightings.ts';
import type { ConnectedWorkers } from './connected-workers.ts';
import type { WorkerDispatch } from './worker-dispatch.ts';

const LOOK_MS = 5_000;
/** Workers of a dead replica need time to reconnect to another one, and that one to list them. */
const GRACE_MS = 15_000;
/** After a longer pause between two looks, because of a hung database for example, the grace starts again. */
const MAX_PAUSE_MS = 2 * LOOK_MS;

/** Dependencies of the watch. */
export interface LinkWatchDeps {
  readonly dispatch: Pick<WorkerDispatch, 'isConnected'>;
  readonly workers: Pick<ConnectedWorkers, 'settledIds'>;
  readonly sink: Pick<ReportSink, 'workerLost' | 'workersHeard'>;
}

/** Starts the watch. */
export function startLinkWatch(context: Context, deps: LinkWatchDeps): BackgroundLoop {
  const { dispatch, workers, sink } = deps;
  const { clock, models } = context;
  const sightings = new WorkerSightings(context);
  const absences = new Absences();
  return startBackgroundLoop(context, { name: 'links', everyMs: LOOK_MS }, async () => {
    await sink.workersHeard(workers.settledIds());
    const { workers: seen, listedAt } = await sightings.look();
    const wanted = (await models.sessions.distinct('worker.instance_id', { status: 'active' })) as string[];
    const missing = wanted.filter((id) => !seen.has(id) && !dispatch.isConnected(id));
    // It may have connected meanwhile.
    for (const { id, forMs } of absences.note(missing, clock.now())) {
      // Earlier if no replica was there to notice, as after a power failure: that time is not charged.
      const noticedAt = new Date(clock.wallTime() - forMs);
      const seenAt = listedAt(id) ?? noticedAt;
      if (!dispatch.isConnected(id)) await sink.workerLost(id, seenAt < noticedAt ? seenAt : noticedAt);
    }
  });
}

/** Since when each worker has been missing. */
class Absences {
  #sinceMs = new Map<string, number>();
  #notedMs = Number.NEGATIVE_INFINITY;

  /** Notes the workers that are missing now; returns those that have been missing for `GRACE_MS`. */
  note(missing: readonly string[], nowMs: number): { readonly id: string; readonly forMs: number }[] {
    const before = nowMs - this.#notedMs > MAX_PAUSE_MS ? new Map<string, number>() : this.#sinceMs;
    this.#notedMs = nowMs;
    this.#sinceMs = new Map(missing.map((id) => [id, before.get(id) ?? nowMs]));
    return [...this.#sinceMs]
      .map(([id, sinceMs]) => ({ id, forMs: nowMs - sinceMs }))
      .filter(({ forMs }) => forMs >= GRACE_MS);
  }
}
