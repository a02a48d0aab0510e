import { afterEach, beforeEach, expect, it } from 'vitest';
import { healthOf } from '#processes/worker-health.ts';
import { openTestWorker, type TestWorker } from '../runtime/worker/open-test-worker.ts';

let bench: TestWorker;
beforeEach(async () => {
  bench = await openTestWorker();
});
afterEach(() => bench.close());

const missing = () => healthOf(bench.worker).missing();
const value = (name: string) =>
  healthOf(bench.worker)
    .meters.find((meter) => meter.name === name)
    ?.read();

it('a worker is ready while it is connected to a control plane and does not drain', async () => {
  await bench.start();
  await expect.poll(missing).toEqual([]);
  void bench.worker.drain();
  expect(missing()).toEqual(['draining']);
});

it('a worker for phone calls only is not ready without a SIP server; one for web calls is', async () => {
  bench.hasSignalling = false;
  await bench.start({ kinds: ['phone'] });
  await expect.poll(missing).toEqual(['not connected to a SIP server']);
  expect(value('parley_sip_connected')).toBe(0);
  bench.hasSignalling = true;
  expect([missing(), value('parley_sip_connected')]).toEqual([[], 1]);
});

it('a worker that takes web calls is ready without a SIP server', async () => {
  bench.hasSignalling = false;
  await bench.start();
  await expect.poll(missing).toEqual([]);
});

it('the metrics of a worker are its jobs, free slots and waiting reports', async () => {
  await bench.start({ capacity: 2 });
  expect([value('parley_jobs'), value('parley_free_slots'), value('parley_waiting_reports')]).toEqual([
    0, 2, 0,
  ]);
  await bench.startWebCall('s1');
  expect([value('parley_jobs'), value('parley_free_slots')]).toEqual([1, 1]);
  bench.spool.append({ sessionId: 's2', epoch: 1 }, { type: 'joined', at: '2026-01-01T00:00:00Z' });
  expect(value('parley_waiting_reports')).toBeGreaterThan(0);
});
