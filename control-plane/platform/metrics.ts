/** The control plane's Prometheus metrics; every part of the control plane registers its meters here. */
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';

/** The registry and the meters updated by the control plane. */
export interface Metrics {
  readonly registry: Registry;
  /** Duration of HTTP requests in seconds, by method, route pattern and status class. */
  readonly requests: Histogram<'method' | 'route' | 'status'>;
  /** Refused calls, sessions and dials, by kind and fault code. */
  readonly refusals: Counter<'kind' | 'reason'>;
  /** Sessions that were opened and charged. */
  readonly callsCreated: Counter<'channel'>;
  /** Ended sessions, each counted once. */
  readonly callsEnded: Counter<'reason'>;
  /** Calls ended because too many workers had died while running them (`worker-losses.ts`). */
  readonly sessionsGivenUp: Counter;
  /** Finished webhooks: delivered, or dropped after the last attempt. */
  readonly webhooks: Counter<'outcome'>;
  /** Ledger entries. */
  readonly postings: Counter<'kind'>;
  /** Wallets that fell below one dollar (low-credit alert). */
  readonly lowCredit: Counter;
}

/** Creates the metrics of one process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Histogram({
    name: 'parley_http_request_seconds',
    help: 'Duration of HTTP requests.',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers: [registry],
  });
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter<Label>({ name: `parley_${name}_total`, help, labelNames, registers: [registry] });
  return {
    registry,
    requests,
    refusals: counter('refusals', 'Refused calls, sessions and dials.', 'kind', 'reason'),
    callsCreated: counter('calls_created', 'Sessions opened.', 'channel'),
    callsEnded: counter('calls_ended', 'Sessions ended.', 'reason'),
    sessionsGivenUp: counter(
      'sessions_given_up',
      'Calls ended as internal_error: two workers died in them or for an unknown reason, or four died in ' +
        'another session.',
    ),
    webhooks: counter('webhooks', 'Webhooks delivered or dropped.', 'outcome'),
    postings: counter('wallet_postings', 'Entries of the wallets.', 'kind'),
    lowCredit: counter('wallet_low_credit', 'Wallets that fell below one dollar.'),
  };
}
