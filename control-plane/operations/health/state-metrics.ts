/**
 * Metrics that need the database: live sessions and what waits to be done. They are the same in all replicas.
 * However often they are scraped, they are read at most once in `FRESH_MS`, and a scrape does not wait long
 * for a database that is away: it then has no samples of them. While it hangs, only the first scrape waits:
 * they are answered one after the other, and would be late for the one who asks.
 */
import { waitAtMost } from '#base/wait-at-most.ts';
import type { Context } from '../../platform/context.ts';
import type { Models } from '../../platform/store/models.ts';
import { outsideRequest } from '../../platform/store/request-wait.ts';
import { dueIn } from '../../platform/store/session-due.ts';
import { ENDED_STATUSES, UNDER_WAY_STATUSES } from '../../platform/store/session-status.ts';

/** Age at which a reading is repeated. */
const FRESH_MS = 10_000;
/** A scrape has 10 s. */
const WAIT_MS = 3_000;
/** Larger backlogs are counted as this many: a count reads that many keys of an index. */
const MOST_COUNTED = 10_000;

const STATUSES = ['creating', 'pending', 'active', 'unknown'] as const;
/** Named so that sessions come in the order of the index. */
const ANY_STATUS = { $in: [...UNDER_WAY_STATUSES, ...ENDED_STATUSES] };
/** Of sessions, calls created first: they have waited longest, unless their analysis is repeated. */
const FIRST = 20;

const QUEUES = ['webhooks', 'outbox', 'settlements', 'analyses', 'test_runs', 'rehearsals'] as const;

interface Backlog {
  readonly items: number;
  readonly oldestAt: Date | null;
}

/** The figures read from the database. */
interface StoredState {
  readonly sessions: Readonly<Record<(typeof STATUSES)[number], number>>;
  readonly backlogs: Readonly<Record<(typeof QUEUES)[number], Backlog>>;
}

type Parts = Pick<Context, 'clock' | 'logger' | 'metrics' | 'models'>;

/** Adds the metrics. */
export function addStateMetrics(context: Parts): void {
  const { clock, metrics } = context;
  const state = freshState(context);
  /** Reads one value for each of these names; none while the database is away. */
  const readingOf =
    <Label extends string, Name extends string>(
      label: Label,
      names: readonly Name[],
      figureOf: (stored: StoredState, name: Name) => number,
    ) =>
    async () => {
      const stored = await state();
      return stored === null
        ? []
        : names.map((name) => ({
            labels: { [label]: name } as Record<Label, Name>,
            value: figureOf(stored, name),
          }));
    };
  metrics.meters.gauge({
    name: 'parley_store_up',
    help: '1 if the database answered when its state was read last, at most 10 s ago; else 0.',
    read: async () => Number((await state()) !== null),
  });
  metrics.meters.gauges({
    name: 'parley_sessions',
    help:
      'Sessions that have not ended, by status. unknown: active, but no control plane is ' +
      'connected to its worker. The same in all replicas.',
    labels: { status: STATUSES },
    read: readingOf('status', STATUSES, ({ sessions }, status) => sessions[status]),
  });
  metrics.meters.gauges({
    name: 'parley_backlog_items',
    help: 'Items that wait, at most 10,000 for each queue. The same in all replicas.',
    labels: { queue: QUEUES },
    read: readingOf('queue', QUEUES, ({ backlogs }, queue) => backlogs[queue].items),
  });
  metrics.meters.gauges({
    name: 'parley_backlog_oldest_seconds',
    help: 'Time for which the oldest item has been due; 0 if none waits. The same in all replicas.',
    labels: { queue: QUEUES },
    read: readingOf('queue', QUEUES, ({ backlogs }, queue) => {
      const { oldestAt } = backlogs[queue];
      return oldestAt === null ? 0 : Math.max(0, clock.wallTime() - oldestAt.getTime()) / 1000;
    }),
  });
}

/** Returns a function that reads the state, unless it was just read; null while the database is away. */
function freshState(context: Parts): () => Promise<StoredState | null> {
  const { clock, logger } = context;
  let readMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<StoredState | null> = Promise.resolve(null);
  let isReading = false;
  /** A scrape has waited in vain for the reading under way. */
  let isLate = false;
  return async () => {
    if (!isReading && clock.now() - readMs >= FRESH_MS) {
      isReading = true;
      readMs = clock.now();
      reading = outsideRequest(() => readState(context))
        .catch((error: unknown) => {
          logger.warn({ err: error }, 'failed to read the backlogs for the metrics');
          return null;
        })
        .finally(() => {
          isReading = false;
          isLate = false;
        });
    }
    if (isLate) return null;
    let state: StoredState | null = null;
    await waitAtMost(
      clock,
      WAIT_MS,
      reading.then((read) => {
        state = read;
      }),
    );
    if (state === null && isReading) isLate = true;
    return state;
  };
}

/** Each query uses an index. One after the other: calls go first. */
async function readState({ models }: Pick<Parts, 'models'>): Promise<StoredState> {
  const sessions: Record<string, number> = {};
  for (const status of STATUSES)
    sessions[status] = await models.sessions.countDocuments({ ...dueIn('live'), status });
  const backlogs: Record<string, Backlog> = {};
  for (const queue of QUEUES) {
    const { model, waiting, due, since, order = since } = queuesOf(models)[queue];
    const first = await model
      .find(due ?? waiting, { [since]: 1 })
      .sort({ [order]: 1 })
      .limit(order === since ? 1 : FIRST)
      .lean();
    const items = await model.countDocuments(waiting, { limit: MOST_COUNTED });
    const times = first.flatMap((item) => dateAt(item, since)?.getTime() ?? []);
    backlogs[queue] = { items, oldestAt: times.length > 0 ? new Date(Math.min(...times)) : null };
  }
  return { sessions, backlogs } as unknown as StoredState;
}

interface StoredQueue {
  /** Of whatever document. */
  readonly model: Models['sessions'];
  readonly waiting: Record<string, unknown>;
  /** Those of them that can be the oldest; absent: all. */
  readonly due?: Record<string, unknown>;
  /** The field that says since when. */
  readonly since: string;
  /** The field that orders the index, if that is another one: the oldest is among the first. */
  readonly order?: string;
}

function queuesOf({
  sessions,
  deliveries,
  testRuns,
  rehearsals,
}: Models): Record<(typeof QUEUES)[number], StoredQueue> {
  return {
    webhooks: {
      model: deliveries as never,
      waiting: { state: { $in: ['pending', 'queued'] } },
      // The others wait for one of these.
      due: { state: 'pending' },
      since: 'next_at',
    },
    outbox: {
      model: sessions,
      waiting: { ...dueIn('outbox'), status: ANY_STATUS, 'outbox.at': { $gt: new Date(0) } },
      since: 'outbox.at',
      order: 'expires_at',
    },
    settlements: {
      model: sessions,
      waiting: { ...dueIn('settlement'), status: ANY_STATUS },
      since: 'billing.at',
      order: 'expires_at',
    },
    analyses: {
      model: sessions,
      waiting: { ...dueIn('analysis'), status: ANY_STATUS },
      since: 'analysis.at',
      order: 'expires_at',
    },
    test_runs: { model: testRuns as never, waiting: { status: 'queued' }, since: 'status_at' },
    rehearsals: {
      model: rehearsals as never,
      waiting: { status: { $in: ['running', 'judging'] } },
      since: 'advanced_at',
    },
  };
}

/** The date at a path such as `outbox.at`, of the first entry of a list. */
function dateAt(document: unknown, path: string): Date | null {
  let found = document;
  for (const name of path.split('.'))
    found = ([found].flat()[0] as Record<string, unknown> | undefined)?.[name];
  return found instanceof Date ? found : null;
}
