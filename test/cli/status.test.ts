import { tmpdir } from 'node:os';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { addWorkerMetrics } from '#control-plane/calls/workers/worker-metrics.ts';
import { type HealthPort, openHealthPort } from '#processes/health-server.ts';
import { createWorkerMetrics } from '#runtime/worker/worker-metrics.ts';
import { fleetStatus } from '../../cli/fleet-status.ts';
import { readSamples } from '../../cli/prometheus-text.ts';
import { runParley } from '../command-line.ts';
import { openTestApi, type TestApi } from '../control-plane/test-api.ts';

const TOKEN = 'only-for-prometheus';
const PATIENCE = { timeout: 240_000 };
const WORKER = {
  instanceId: 'w1',
  kinds: [],
  capacity: 10,
  calls: 3,
  freeSlots: 7,
  loopLagMs: 4,
  isWebReady: true,
};

let api: TestApi;
let url: string;
/** The workers that the control plane hears. */
let workers = [WORKER];
let part: HealthPort;
let vendors: ReturnType<typeof createWorkerMetrics>['vendors'];

beforeAll(async () => {
  api = await openTestApi({ METRICS_TOKEN: TOKEN });
  addWorkerMetrics(api.context.metrics.meters, { describe: () => workers, isStopping: false });
  url = await api.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => api.close());
beforeEach(async () => {
  workers = [WORKER];
  const settings = readSettings({ HEALTH_PORT: '0' });
  const opened = await openHealthPort(settings, systemClock, createLogger({ level: 'silent', name: 'test' }));
  if (opened === null) throw new Error('no health port');
  part = opened;
  const metrics = createWorkerMetrics();
  vendors = metrics.vendors;
  part.serve({ missing: () => [], meters: metrics.meters });
});
afterEach(() => part.close());

function status(args: readonly string[] = [], { token = TOKEN, interruptAt = '' } = {}) {
  return runParley(['--url', url, 'status', ...args], {
    folder: tmpdir(),
    environment: { METRICS_TOKEN: token },
    ...(interruptAt === '' ? {} : { interruptAt }),
  });
}

it(
  'parley status prints workers, calls, turns and queues, and exits with 0 if nothing is wrong',
  PATIENCE,
  async () => {
    const { callsCreated, callsJoined, callsEnded, turns } = api.context.metrics;
    const channel = 'phone_inbound';
    callsCreated.inc({ channel }, 3);
    callsJoined.inc({ channel }, 2);
    callsEnded.inc({ channel, reason: 'user_hangup' });
    callsEnded.inc({ channel, reason: 'agent_join_timeout' });
    for (const latency of [0.55, 0.55, 0.55, 1.9]) turns.observe({ channel }, latency);
    const { code, out } = await status();
    expect(code).toBe(0);
    expect(out).toMatch(/^✓ nothing is wrong$/m);
    expect(out).toMatch(/^Workers +1, 3 jobs, 7 free slots, event loop 4 ms late$/m);
    expect(out).toMatch(/^Database +answers$/m);
    // Between 0.5 and 0.6 s, and between 1.5 and 2 s, as Prometheus interpolates.
    expect(out).toMatch(/^Turns +4, p50 0\.57 s, p95 1\.90 s$/m);
    expect(out).toMatch(/^phone_inbound +3 +2 +2 +1$/m);
    expect(out).toMatch(/^settlements +0 +0\.00 s$/m);
  },
);

it(
  'parley status says what is wrong with the section of the runbooks, and exits with 1',
  PATIENCE,
  async () => {
    workers = [];
    const { code, out } = await status();
    expect(code).toBe(1);
    expect(out).toMatch(
      /^✗ no worker is connected: calls are refused \(docs\/runbooks\.md#parleynoworker\)$/m,
    );
  },
);

it.each([
  ['another replica has a worker', ['parley_workers 0', 'parley_workers 1\nparley_worker_free_slots 4'], []],
  ['a worker is linked to a replica that was not read', ['parley_workers 0', 'parley_link_connected 1'], []],
  ['a replica that was not read has calls', ['parley_workers 0\nparley_sessions{status="active"} 2'], []],
  [
    'no replica has a worker',
    ['parley_workers 0\nparley_sessions{status="active"} 0', 'parley_workers 0', 'parley_link_connected 0'],
    ['ParleyNoWorker', 'ParleyWorkerWithoutControlPlane'],
  ],
])('parley status looks for workers at all replicas: %s', (_, texts, alerts) => {
  const parts = texts.map((text, index) => ({
    url: `http://10.0.0.${index}:8080`,
    samples: readSamples(`parley_store_up 1\n${text}\n`),
  }));
  expect(fleetStatus(parts).problems.map(({ alert }) => alert)).toEqual(alerts);
});

it('parley status lists the failing endpoints of agents and does not call them a problem', () => {
  const failing = (vendor: string) =>
    `parley_vendor_requests_total{service="model",vendor="${vendor}",outcome="unavailable"} 9\n`;
  const text = `parley_store_up 1\nparley_workers 1\nparley_worker_free_slots 4\n`;
  const { vendors: rows, problems } = fleetStatus([
    { url, samples: readSamples(text + failing('custom') + failing('openai')) },
  ]);
  expect(rows.map(({ vendor, errors }) => [vendor, errors])).toEqual([
    ['custom', 9],
    ['openai', 9],
  ]);
  expect(problems).toEqual([{ alert: 'ParleyVendorErrors', text: 'openai fails in 100 % of model' }]);
});

it('parley status --part also counts the errors of vendors that a worker had', PATIENCE, async () => {
  for (let request = 0; request < 6; request++) vendors.began('synthesis', 'elevenlabs:flash', 100);
  for (let request = 0; request < 4; request++) vendors.failed('synthesis', 'elevenlabs:flash', 'overloaded');
  vendors.failed('synthesis', 'elevenlabs:flash', 'abandoned');
  const { code, out } = await status(['--part', part.url ?? '']);
  expect(code).toBe(1);
  expect(out).toMatch(/^✗ elevenlabs fails in 40 % of synthesis \(docs\/runbooks\.md#parleyvendorerrors\)$/m);
  expect(out).toMatch(/^elevenlabs +synthesis +10 +4 +40 % +0$/m);
});

it('parley status --json names a part that does not answer', PATIENCE, async () => {
  const { code, out } = await status(['--json', '--part', 'http://127.0.0.1:9']);
  expect(code).toBe(1);
  expect(JSON.parse(out)).toMatchObject({
    parts: [
      { url, part: 'control plane' },
      { url: 'http://127.0.0.1:9', part: null },
    ],
    workers: { connected: 1, free_slots: 7 },
    problems: [{ alert: 'ParleyPartDown', text: 'nothing answers at http://127.0.0.1:9' }],
  });
});

it('parley status --watch repeats it until Ctrl-C', PATIENCE, async () => {
  const { code, out } = await status(['--watch'], { interruptAt: 'nothing is wrong' });
  expect(code).toBe(0);
  expect(out).toContain('Workers');
});

it.each([
  ['a wrong token', () => status([], { token: 'wrong' }), 2, /set METRICS_TOKEN as for the product/],
  [
    'an address where nothing answers',
    () => status(['--url', 'http://127.0.0.1:9']),
    3,
    /nothing answers at http:\/\/127\.0\.0\.1:9/,
  ],
])('parley status with %s says what to do', PATIENCE, async (_, run, code, said) => {
  const result = await run();
  expect([result.code, result.out]).toEqual([code, '']);
  expect(result.err).toMatch(said);
});
