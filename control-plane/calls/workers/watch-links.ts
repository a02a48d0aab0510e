/**
 * Detects lost workers in deployments with several replicas: sessions become `unknown` only if their worker
 * has given no sign of life to any replica, and `active` again when it has. A broken link alone proves
 * nothing, since the worker may be connected to another replica; neither does silence on Redis.
 */
import type { Clock } from '#base/clock.ts';
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import type { Context } from '../../platform/context.ts';
import type { ReportSink } from '../../platform/report-sink.ts';
import { dueIn } from '../../platform/store/session-due.ts';
import { WorkerSightings } from '../../platform/store/worker-sightings.ts';
import type { ConnectedWorkers } from './connected-workers.ts';
import type { WorkerDispatch } from './worker-dispatch.ts';

const LOOK_MS = 5_000;
/** Workers of a dead replica need time to reconnect to another one, and that one to list them. */
const GRACE_MS = 15_000;
/** After a longer pause between two looks, because of a hung database for example, the grace starts again. */
const MAX_PAUSE_MS = 2 * LOOK_MS;
const NEVER = Number.NEGATIVE_INFINITY;

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
    const lookedMs = clock.now();
    const { workers: seen, listedAt } = await sightings.look();
    const active = { ...dueIn('live'), status: 'active' } as const;
    const wanted = (await models.sessions.distinct('worker.instance_id', active)) as string[];
    const missing = wanted.filter((id) => !seen.has(id) && !dispatch.isConnected(id));
    absences.note({ seen: wanted.filter((id) => seen.has(id)), missing, lookedMs }, clock.now());
    for (const absence of absences.long()) {
      const { id } = absence;
      const at = lostAt(absence, listedAt(id), clock);
      // It may have connected meanwhile.
      if (!dispatch.isConnected(id)) await sink.workerLost(id, at);
    }
  });
}

/**
 * When the worker was last heard: its calls are charged until then. The register tells it to the second, also
 * if no replica was there to notice, but by the clock of another replica. A slow one would charge too little,
 * a fast one too much. So the register decides only within what this replica has seen by its own clock.
 */
function lostAt({ heardMs, sinceMs }: Absence, listedAt: Date | null, clock: Clock): Date {
  const aheadMs = clock.wallTime() - clock.now();
  const listedMs = listedAt === null ? sinceMs : listedAt.getTime() - aheadMs;
  return new Date(aheadMs + Math.min(sinceMs, Math.max(heardMs, listedMs)));
}

/** A missing worker, by the monotonic clock of this replica. */
interface Absence {
  readonly id: string;
  /** It was listed at this time or later, ms; `NEVER` if this replica has not seen that. */
  readonly heardMs: number;
  /** The first look that missed it, ms. */
  readonly sinceMs: number;
}

/** Workers with calls, as this replica sees them at each look. */
interface Look {
  readonly seen: readonly string[];
  readonly missing: readonly string[];
  /** Time before the register was read, ms. */
  readonly lookedMs: number;
}

/** Since when each worker has been missing, and when it was heard before. */
class Absences {
  #sinceMs = new Map<string, number>();
  #heardMs = new Map<string, number>();
  #lookedMs = NEVER;
  #notedMs = NEVER;

  /** Notes one look. */
  note({ seen, missing, lookedMs }: Look, nowMs: number): void {
    const before = nowMs - this.#notedMs > MAX_PAUSE_MS ? new Map<string, number>() : this.#sinceMs;
    this.#sinceMs = new Map(missing.map((id) => [id, before.get(id) ?? nowMs]));
    // A worker seen now was listed since the look before: when, only the replica that did so knows.
    this.#heardMs = new Map([
      ...missing.map((id) => [id, this.#heardMs.get(id) ?? NEVER] as const),
      ...seen.map((id) => [id, this.#lookedMs] as const),
    ]);
    this.#lookedMs = lookedMs;
    this.#notedMs = nowMs;
  }

  /** The workers that were missing for `GRACE_MS` at the last look. */
  long(): readonly Absence[] {
    return [...this.#sinceMs]
      .filter(([, sinceMs]) => this.#notedMs - sinceMs >= GRACE_MS)
      .map(([id, sinceMs]) => ({ id, sinceMs, heardMs: this.#heardMs.get(id) ?? NEVER }));
  }
}
