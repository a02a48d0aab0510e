/** The state of a fleet, read from the metrics of its parts (docs/metrics.md), and what is wrong with it. */
import { BREAKDOWNS } from '#protocol/session-record.ts';
import { quantile, type Sample } from './prometheus-text.ts';

/** The metrics of a part; null if it does not answer. */
export interface PartMetrics {
  readonly url: string;
  readonly samples: readonly Sample[] | null;
}

/** Something wrong, with the alert whose runbook says what to do. */
export interface Problem {
  readonly alert: string;
  readonly text: string;
}

/** Times in seconds; counts since each part started, or since a watch began. */
export type FleetStatus = ReturnType<typeof stateOf> & { readonly problems: readonly Problem[] };

/** Objectives and limits of deploy/monitoring/alerts.yml. */
const TURN_BUDGET_SECONDS = 1.5;
const TURN_OBJECTIVE = 0.95;
const LEAST_TURNS = 20;
const LATE_LOOP_SECONDS = 0.06;
const VENDOR_ERROR_SHARE = 0.1;
const LEAST_VENDOR_ERRORS = 3;
const RETENTION_SECONDS = 3 * 3_600;
const QUEUES: Readonly<Record<string, { readonly alert: string; readonly seconds: number }>> = {
  webhooks: { alert: 'ParleyWebhooksWait', seconds: 120 },
  outbox: { alert: 'ParleyWebhooksWait', seconds: 120 },
  settlements: { alert: 'ParleySettlementsWait', seconds: 300 },
  analyses: { alert: 'ParleyAnalysesWait', seconds: 900 },
  test_runs: { alert: 'ParleyAnalysesWait', seconds: 900 },
  reports: { alert: 'ParleyReportsWait', seconds: 120 },
  uploads: { alert: 'ParleyReportsWait', seconds: 120 },
};
/** End reasons that are faults of the deployment. */
const FAULTS = new Set([...BREAKDOWNS, 'room_join_timeout']);

/** The state of all parts together, and what is wrong. */
export function fleetStatus(parts: readonly PartMetrics[]): FleetStatus {
  const fleet = stateOf(parts);
  return { ...fleet, problems: problemsOf(fleet) };
}

function stateOf(parts: readonly PartMetrics[]) {
  const all = new Samples(parts.flatMap(({ samples }) => samples ?? []));
  const lag = [...all.values('parley_worker_loop_lag_seconds'), ...all.values('parley_loop_lag_seconds')];
  return {
    parts: parts.map(({ url, samples }) => ({ url, part: samples && kindOf(samples) })),
    database: all.most('parley_store_up') === 1,
    workers: {
      /** The sum over the replicas that were read. */
      connected: all.sum('parley_workers'),
      jobs: all.sum('parley_worker_calls'),
      free_slots: all.sum('parley_worker_free_slots'),
      loop_lag_seconds: Math.max(0, ...lag),
      without_control_plane: all.values('parley_link_connected').filter((value) => value === 0).length,
    },
    workers_heard: hearsWorkers(all),
    signalling_without_control_plane: all
      .values('parley_sip_control_plane_answers')
      .filter((value) => value === 0).length,
    sessions: all
      .by('parley_sessions', ['status'])
      .map(({ labels: { status = '' }, most }) => ({ status, count: most })),
    calls: callsOf(all),
    turns: turnsOf(all),
    backlogs: backlogsOf(all),
    vendors: vendorsOf(all),
    retention_lag_seconds: all.least('parley_retention_lag_seconds'),
  };
}

/**
 * Whether any replica hears a worker. Those that were not read count too: their workers show in the link of a
 * worker that was read, and in the active sessions, which are the same in all replicas.
 */
function hearsWorkers(all: Samples): boolean {
  return (
    all.sum('parley_workers') > 0 ||
    all.sum('parley_link_connected') > 0 ||
    (all.most('parley_sessions', { status: 'active' }) ?? 0) > 0
  );
}

function callsOf(all: Samples) {
  const ended = all.by('parley_calls_ended_total', ['channel', 'reason']);
  return all.by('parley_calls_created_total', ['channel']).map(({ labels: { channel = '' }, sum }) => ({
    channel,
    created: sum,
    joined: all.sum('parley_calls_joined_total', { channel }),
    ended: all.sum('parley_calls_ended_total', { channel }),
    faults: ended
      .filter(({ labels }) => labels['channel'] === channel && FAULTS.has(labels['reason'] ?? ''))
      .reduce((total, one) => total + one.sum, 0),
  }));
}

/** Null without a turn. */
function turnsOf(all: Samples) {
  const buckets = new Map(
    all
      .by('parley_turn_latency_seconds_bucket', ['le'])
      .map(({ labels, sum }) => [
        labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']),
        sum,
      ]),
  );
  const count = all.sum('parley_turn_latency_seconds_count');
  if (count === 0) return null;
  return {
    count,
    p50_seconds: quantile(0.5, buckets),
    p95_seconds: quantile(0.95, buckets),
    share_in_budget: (buckets.get(TURN_BUDGET_SECONDS) ?? 0) / count,
  };
}

function backlogsOf(all: Samples) {
  return all.by('parley_backlog_items', ['queue']).map(({ labels: { queue = '' }, most, sum }) => ({
    queue,
    // The queues of the database are the same in all replicas; each worker has its own.
    items: queue === 'reports' || queue === 'uploads' ? sum : most,
    oldest_seconds: all.most('parley_backlog_oldest_seconds', { queue }) ?? 0,
  }));
}

/** Vendors with at least one error or fail-over. */
function vendorsOf(all: Samples) {
  return all
    .by('parley_vendor_requests_total', ['service', 'vendor'])
    .map(({ labels, sum }) => {
      const { service = '', vendor = '' } = labels;
      const of = (outcome: string) => all.sum('parley_vendor_requests_total', { ...labels, outcome });
      const requests = sum - of('abandoned');
      return {
        service,
        vendor,
        requests,
        errors: requests - of('ok'),
        failovers: all.sum('parley_vendor_failovers_total', labels),
      };
    })
    .filter(({ errors, failovers }) => errors > 0 || failovers > 0);
}

function kindOf(samples: readonly Sample[]): string {
  const has = (name: string) => samples.some((sample) => sample.name === name);
  if (has('parley_workers')) return 'control plane';
  if (has('parley_slots')) return 'worker';
  return has('parley_sip_workers') ? 'signalling' : 'unknown';
}

function problemsOf(fleet: ReturnType<typeof stateOf>): Problem[] {
  const { workers, turns } = fleet;
  const unknown = fleet.sessions.find(({ status }) => status === 'unknown')?.count ?? 0;
  const found: (Problem | false)[] = [
    ...fleet.parts.map(
      ({ url, part }) => part === null && problem('ParleyPartDown', `nothing answers at ${url}`),
    ),
    !fleet.database && problem('ParleyStoreDown', 'the database does not answer'),
    !fleet.workers_heard && problem('ParleyNoWorker', 'no worker is connected: calls are refused'),
    workers.connected > 0 &&
      workers.free_slots === 0 &&
      problem('ParleyNoFreeSlot', 'no slot is free: new calls are refused'),
    workers.loop_lag_seconds > LATE_LOOP_SECONDS &&
      problem('ParleyLoopLag', `a worker is ${Math.round(workers.loop_lag_seconds * 1_000)} ms late`),
    workers.without_control_plane > 0 &&
      problem(
        'ParleyWorkerWithoutControlPlane',
        `workers without a control plane: ${workers.without_control_plane}`,
      ),
    fleet.signalling_without_control_plane > 0 &&
      problem('ParleySignallingWithoutControlPlane', 'signalling reaches no control plane'),
    unknown > 0 && problem('ParleyUnknownSessions', `sessions whose worker is not heard: ${unknown}`),
    turns !== null &&
      turns.count >= LEAST_TURNS &&
      turns.share_in_budget < TURN_OBJECTIVE &&
      problem(
        'ParleyTurnLatencyBurns',
        `${percent(1 - turns.share_in_budget)} of the replies came after more than ${TURN_BUDGET_SECONDS} s`,
      ),
    ...fleet.backlogs.map(backlogProblem),
    ...fleet.vendors.map(
      ({ service, vendor, requests, errors }) =>
        // The endpoints of agents: only their owners can repair those.
        vendor !== 'custom' &&
        errors >= LEAST_VENDOR_ERRORS &&
        errors / requests > VENDOR_ERROR_SHARE &&
        problem('ParleyVendorErrors', `${vendor} fails in ${percent(errors / requests)} of ${service}`),
    ),
    (fleet.retention_lag_seconds ?? 0) > RETENTION_SECONDS &&
      problem('ParleyRetentionLate', 'expired data has not been deleted for hours'),
  ];
  return found.filter((one) => one !== false);
}

function backlogProblem({ queue, oldest_seconds: age }: FleetStatus['backlogs'][number]): Problem | false {
  const limit = QUEUES[queue];
  return (
    limit !== undefined &&
    age > limit.seconds &&
    problem(limit.alert, `the oldest item of ${queue} has waited for ${Math.round(age)} s`)
  );
}

function problem(alert: string, text: string): Problem {
  return { alert, text };
}

/** A share for people. */
export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

type Labels = Readonly<Record<string, string>>;

/** Sums and extremes of samples by their name and labels. */
class Samples {
  readonly #byName = new Map<string, Sample[]>();

  constructor(samples: readonly Sample[]) {
    for (const sample of samples) {
      const same = this.#byName.get(sample.name);
      if (same) same.push(sample);
      else this.#byName.set(sample.name, [sample]);
    }
  }

  values(name: string, labels: Labels = {}): number[] {
    const wanted = Object.entries(labels);
    return (this.#byName.get(name) ?? [])
      .filter((sample) => wanted.every(([label, value]) => sample.labels[label] === value))
      .map(({ value }) => value);
  }

  sum(name: string, labels: Labels = {}): number {
    return this.values(name, labels).reduce((total, value) => total + value, 0);
  }

  /** Null without samples. */
  most(name: string, labels: Labels = {}): number | null {
    const values = this.values(name, labels);
    return values.length === 0 ? null : Math.max(...values);
  }

  /** Null without samples. */
  least(name: string): number | null {
    const values = this.values(name);
    return values.length === 0 ? null : Math.min(...values);
  }

  /** One row for each combination of these labels. */
  by(name: string, names: readonly string[]): { labels: Labels; sum: number; most: number }[] {
    const combinations = new Map<string, { labels: Labels; sum: number; most: number }>();
    for (const { labels, value } of this.#byName.get(name) ?? []) {
      const kept = Object.fromEntries(names.map((label) => [label, labels[label] ?? '']));
      const key = JSON.stringify(kept);
      const row = combinations.get(key) ?? { labels: kept, sum: 0, most: Number.NEGATIVE_INFINITY };
      row.sum += value;
      row.most = Math.max(row.most, value);
      combinations.set(key, row);
    }
    return [...combinations.values()];
  }
}
