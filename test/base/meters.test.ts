import perfHooks from 'node:perf_hooks';
import { expect, it, onTestFinished, vi } from 'vitest';
import { Meters } from '#base/meters.ts';
import { sampleIn, sampleOf } from '../fakes/metric-sample.ts';

const HOSTILE = ['+15550100000', 'https://tenant.example.com/hook', 'a"}\nparley_forged 1', '', '__proto__'];

it('a label value from outside becomes `other`, however many there are', async () => {
  const meters = new Meters();
  const calls = meters.counter({ name: 'calls_total', help: 'Calls.', labels: { reason: ['busy'] } });
  const waits = meters.histogram({
    name: 'wait_seconds',
    help: 'Wait.',
    labels: { vendor: ['known'] },
    buckets: [1],
  });
  meters.gauges({
    name: 'sessions',
    help: 'Sessions.',
    labels: { status: ['active'] },
    read: () => HOSTILE.map((status) => ({ labels: { status }, value: 1 })),
  });
  for (const reason of ['busy', ...HOSTILE]) calls.inc({ reason });
  for (const vendor of HOSTILE) waits.observe({ vendor }, 0.5);
  const { body } = await meters.scrape();
  expect(body.split('\n').filter((line) => line !== '' && !line.startsWith('#'))).toEqual([
    'calls_total{reason="busy"} 1',
    'calls_total{reason="other"} 5',
    'wait_seconds_bucket{le="1",vendor="known"} 0',
    'wait_seconds_bucket{le="+Inf",vendor="known"} 0',
    'wait_seconds_sum{vendor="known"} 0',
    'wait_seconds_count{vendor="known"} 0',
    'wait_seconds_bucket{le="1",vendor="other"} 5',
    'wait_seconds_bucket{le="+Inf",vendor="other"} 5',
    'wait_seconds_sum{vendor="other"} 2.5',
    'wait_seconds_count{vendor="other"} 5',
    'sessions{status="other"} 1',
  ]);
});

it('a counter begins at 0 for each known value, so that a rate sees the first event', async () => {
  const meters = new Meters();
  meters.counter({ name: 'dials_total', help: 'Dials.', labels: { status: ['busy', 'answered'] } });
  expect(await sampleOf(meters, 'dials_total{status="busy"}')).toBe(0);
  expect(await sampleOf(meters, 'dials_total{status="answered"}')).toBe(0);
});

it('a histogram of few series begins at 0 for each of them, one of many has those that were observed', async () => {
  const meters = new Meters();
  const many = Array.from({ length: 21 }, (_, index) => `v${index}`);
  const bucket = (name: string, vendor: string) =>
    sampleOf(meters, `${name}_bucket{le="1",vendor="${vendor}"}`);
  for (const hasExemplars of [false, true]) {
    const name = `few_${hasExemplars}_seconds`;
    const few = meters.histogram({
      name,
      help: 'Few.',
      labels: { vendor: many.slice(1) },
      buckets: [1],
      hasExemplars,
    });
    expect(await bucket(name, 'v1')).toBe(0);
    few.observe({ vendor: 'v1' }, 0.5, 'f00d');
    expect([await bucket(name, 'v1'), await bucket(name, 'v20')]).toEqual([1, 0]);
  }
  meters.histogram({ name: 'many_seconds', help: 'Many.', labels: { vendor: many }, buckets: [1] });
  expect(await bucket('many_seconds', 'v1')).toBeNull();
});

it('a value has the trace of its call only in the OpenMetrics format', async () => {
  const meters = new Meters();
  const turns = meters.histogram({ name: 'turn_seconds', help: 'Turns.', buckets: [1], hasExemplars: true });
  turns.observe({}, 0.25, 'f00d');
  turns.observe({}, 3);
  const open = await meters.scrape('application/openmetrics-text;version=1.0.0,text/plain;q=0.5');
  expect(open.contentType).toMatch(/^application\/openmetrics-text; version=1\.0\.0/);
  expect(open.body).toMatch(/^turn_seconds_bucket\{le="1"\} 1 # \{trace_id="f00d"\} 0\.25 [\d.]+$/m);
  expect(open.body).toMatch(/^turn_seconds_bucket\{le="\+Inf"\} 2$/m);
  expect(open.body.endsWith('# EOF\n')).toBe(true);
  const plain = await meters.scrape('text/plain');
  expect(plain.contentType).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(plain.body).not.toMatch(/trace_id|EOF/);
});

it('scrapes in both formats at the same time do not change the names of counters', async () => {
  const meters = new Meters();
  meters.counter({ name: 'calls_total', help: 'Calls.' }).inc({}, 2);
  const open = 'application/openmetrics-text';
  const [first, plain, second] = await Promise.all([open, '', open].map((accept) => meters.scrape(accept)));
  expect(first?.body).toContain('# TYPE calls counter\ncalls_total 2\n');
  expect(plain?.body).toContain('# TYPE calls_total counter\ncalls_total 2\n');
  expect(second?.body).toBe(first?.body);
});

it('a value that is no number is left out, and what is measured does not fail', async () => {
  const meters = new Meters();
  for (const hasExemplars of [false, true]) {
    const name = `wait_${hasExemplars}_seconds`;
    const waits = meters.histogram({ name, help: 'Wait.', buckets: [1], hasExemplars });
    for (const value of [Number.NaN, undefined as unknown as number, 0.5]) waits.observe({}, value, 'f00d');
    expect(await sampleOf(meters, `${name}_count`)).toBe(1);
  }
});

it('a gauge whose value is not known has no sample', async () => {
  const meters = new Meters();
  let value: number | null = 1;
  meters.gauge({ name: 'lag_seconds', help: 'Lag.', read: () => value });
  expect(await sampleOf(meters, 'lag_seconds')).toBe(1);
  value = null;
  expect(await sampleOf(meters, 'lag_seconds')).toBeNull();
});

/** A histogram of the event loop with this number of samples, each of 60 ms. */
function sampledLoop(samples: number) {
  const has = (value: number, otherwise: number) => (samples > 0 ? value * 1e6 : otherwise);
  const histogram = {
    enable: () => true,
    reset: () => undefined,
    // As an empty one of Node has them.
    min: has(60, 2 ** 63),
    max: has(60, 0),
    mean: has(60, Number.NaN),
    stddev: has(0, Number.NaN),
    percentile: () => has(60, 0),
  };
  const sampled = vi.spyOn(perfHooks, 'monitorEventLoopDelay').mockReturnValue(histogram as never);
  onTestFinished(() => sampled.mockRestore());
  return sampled;
}

const LAGS = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'];
const lagsIn = (body: string) => LAGS.map((name) => sampleIn(body, `nodejs_eventloop_lag_${name}_seconds`));

it('the metrics of the process are there at the first scrape, and not sampled before it', async () => {
  const sampled = sampledLoop(1);
  const meters = new Meters().addProcess();
  expect(sampled).not.toHaveBeenCalled();
  const { body } = await meters.scrape();
  expect(sampled).toHaveBeenCalledOnce();
  expect(sampleIn(body, 'process_resident_memory_bytes')).toBeGreaterThan(0);
  await meters.scrape('application/openmetrics-text');
  expect(sampled).toHaveBeenCalledOnce();
});

it.each(['', 'application/openmetrics-text'])(
  'the lag of an event loop without samples is not in a scrape: %s',
  async (accept) => {
    sampledLoop(0);
    const { body } = await new Meters().addProcess().scrape(accept);
    expect(lagsIn(body)).toEqual(LAGS.map(() => null));
    expect(body).not.toMatch(/ nan$/im);
    expect(sampleIn(body, 'nodejs_eventloop_lag_seconds')).not.toBeNull();
  },
);

it('the lag of an event loop is in a scrape as soon as there are samples', async () => {
  sampledLoop(1);
  const { body } = await new Meters().addProcess().scrape();
  expect(lagsIn(body)).toEqual([0.06, 0.06, 0.06, 0, 0.06, 0.06, 0.06]);
});
