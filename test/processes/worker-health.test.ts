import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import type { Health } from '#processes/health-server.ts';
import { healthOf } from '#processes/worker-health.ts';
import { sampleOf } from '../fakes/metric-sample.ts';
import { openTestWorker, type TestWorker } from '../runtime/worker/open-test-worker.ts';

let bench: TestWorker;
beforeEach(async () => {
  bench = await openTestWorker();
});
afterEach(() => bench.close());

/** The worker's health, once it is started. */
let health: Health;
const start = async (options: Parameters<TestWorker['start']>[0] = {}) => {
  await bench.start(options);
  const { worker, uploads, metrics } = bench;
  const leftBytes = () => 4_711;
  health = healthOf({ worker, uploads, leftBytes, meters: metrics.meters, clock: systemClock });
};
const missing = () => health.missing();
const value = (series: string) => sampleOf(bench.metrics.meters, series);

it('a worker is ready while it is connected to a control plane and does not drain', async () => {
  await start();
  await expect.poll(missing).toEqual([]);
  void bench.worker.drain();
  expect(missing()).toEqual(['draining']);
});

it('a worker for phone calls only is not ready without a SIP server; one for web calls is', async () => {
  bench.hasSignalling = false;
  await start({ kinds: ['phone'] });
  await expect.poll(missing).toEqual(['not connected to a SIP server']);
  expect(await value('parley_sip_connected')).toBe(0);
  bench.hasSignalling = true;
  expect([missing(), await value('parley_sip_connected')]).toEqual([[], 1]);
});

it('a worker that takes web calls is ready without a SIP server', async () => {
  bench.hasSignalling = false;
  await start();
  await expect.poll(missing).toEqual([]);
});

it('a worker that has not loaded what web calls need is ready, because it takes other calls, and says so', async () => {
  await start();
  bench.media.isWebReady = false;
  await expect.poll(missing).toEqual([]);
  expect(await value('parley_web_ready')).toBe(0);
  bench.media.isWebReady = true;
  expect(await value('parley_web_ready')).toBe(1);
});

it('a worker that takes no web calls does not say whether it is ready for them', async () => {
  await start({ kinds: ['phone'] });
  const { meters } = bench.metrics;
  expect(meters.describe().map(({ name }) => name)).not.toContain('parley_web_ready');
});

it('the metrics of a worker are its jobs, slots, link, waiting reports and recordings', async () => {
  await start({ capacity: 2 });
  await expect.poll(() => value('parley_link_connected')).toBe(1);
  expect([await value('parley_jobs'), await value('parley_free_slots'), await value('parley_slots')]).toEqual(
    [0, 2, 2],
  );
  expect(await value('parley_backlog_items{queue="reports"}')).toBe(0);
  expect(await value('parley_recordings_left_bytes')).toBe(4_711);
  await bench.startWebCall('s1');
  expect([await value('parley_jobs'), await value('parley_free_slots')]).toEqual([1, 1]);
  bench.spool.append({ sessionId: 's2', epoch: 1 }, { type: 'joined', at: '2026-01-01T00:00:00Z' });
  expect(await value('parley_backlog_items{queue="reports"}')).toBeGreaterThan(0);
  await expect.poll(() => value('parley_backlog_oldest_seconds{queue="reports"}')).toBeGreaterThan(0);
  void bench.worker.drain();
  expect([await value('parley_draining'), await value('parley_free_slots')]).toEqual([1, 0]);
});
