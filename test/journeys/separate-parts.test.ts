/**
 * Journey: an installation in parts. After a phone call, the metrics of every part tell of it; workers are
 * stopped during calls, as in a deploy, and another worker continues each; at last the control plane is
 * stopped behind a load balancer.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sampleIn } from '#test/fakes/metric-sample.ts';
import { itNeeds } from '#test/needs.ts';
import { ASKED_AND_ANSWERED, callAndListen, callSoFar } from './asked-by-phone.ts';
import { Parts } from './parts.ts';
import type { Program } from './program.ts';
import { launchBrowser, TalkPage } from './talk-page.ts';
import { greetWith } from './tenant.ts';
import { GREETING, OPENING_HOURS } from './web-conversation.ts';

const GREETED = `assistant: ${GREETING}`;
const ENDED = { status: 'completed', end_reason: 'user_hangup' };

let parts: Parts;
let controlPlane: Program;
let signalling: Program;
let worker: Program;

beforeAll(async () => {
  parts = await Parts.open({ RTP_PORT_MIN: '39400', RTP_PORT_MAX: '39599', HEALTH_PORT: '0' });
  [controlPlane, signalling, worker] = await Promise.all([
    parts.start('control-plane', 'control-plane', { settings: { STOP_DELAY_SECONDS: '8' } }),
    parts.start('signalling', 'signalling'),
    parts.start('worker', 'first'),
  ]);
  await greetWith(parts, GREETING);
}, 120_000);
afterAll(() => parts?.close());

it('a phone call with a question is in the metrics of all parts', { timeout: 120_000 }, async () => {
  const phone = await callAndListen(parts, '+15557650003');
  await phone.ask();
  const during = await scrape(await healthOf(worker));
  expect([during('parley_jobs'), during('parley_link_connected'), during('parley_sip_connected')]).toEqual([
    1, 1, 1,
  ]);
  await phone.hangUp();
  await parts.until('the call is settled', async () => (await phone.call()).status === 'completed');

  const plane = await scrape(parts.url);
  const channel = 'channel="phone_inbound"';
  expect(plane('parley_admission_seconds_count{kind="inbound_call",outcome="admitted"}')).toBe(1);
  for (const kind of ['created', 'joined']) expect(plane(`parley_calls_${kind}_total{${channel}}`)).toBe(1);
  expect(plane(`parley_calls_ended_total{${channel},reason="user_hangup"}`)).toBe(1);
  expect(plane(`parley_call_duration_seconds_count{${channel}}`)).toBe(1);
  expect(plane(`parley_turn_latency_seconds_count{${channel}}`)).toBeGreaterThanOrEqual(1);
  for (const [part, vendor] of [
    ['endpoint', 'parley'],
    ['transcript', 'local'],
    ['first_token', 'local'],
    ['first_audio', 'local'],
  ])
    expect([part, plane(`parley_turn_part_seconds_count{part="${part}",vendor="${vendor}"}`)]).toEqual([
      part,
      plane(`parley_turn_latency_seconds_count{${channel}}`),
    ]);
  expect(plane('parley_call_mos_count')).toBe(1);
  expect(plane('parley_wallet_postings_total{kind="hold"}')).toBe(1);
  expect(plane('parley_store_command_seconds_count{command="find",outcome="ok"}')).toBeGreaterThan(10);
  expect(plane('parley_workers')).toBe(1);
  expect(plane('parley_retention_lag_seconds')).toBeLessThan(600);

  const after = await scrape(await healthOf(worker));
  expect(after('parley_jobs')).toBe(0);
  for (const service of ['recognition', 'model', 'synthesis'])
    expect([
      service,
      (after(`parley_vendor_requests_total{service="${service}",vendor="local",outcome="ok"}`) ?? 0) > 0,
      (after(`parley_vendor_first_byte_seconds_count{service="${service}",vendor="local"}`) ?? 0) > 0,
    ]).toEqual([service, true, true]);
  // At least one for each second but the first.
  expect(after('parley_media_lateness_seconds_count')).toBeGreaterThan(2);

  const sip = await scrape(await healthOf(signalling));
  expect([sip('parley_sip_invites_total'), sip('parley_sip_workers')]).toEqual([1, 1]);
});

it('a stopped worker hands a phone call over between two turns, and neither worker announces it', {
  timeout: 120_000,
}, async () => {
  const phone = await callAndListen(parts, '+15557650001');
  await phone.ask();
  await replaceWorker('second');
  expect((await phone.call()).status).toBe('active');
  await phone.ask();
  await phone.hangUp();
  // To the phone, both workers are one source of one stream.
  expect(new Set(phone.packets.map(({ ssrc }) => ssrc)).size).toBe(1);
  const numbers = phone.packets.map(({ sequence }) => sequence);
  expect(numbers.filter((number, index) => isRepeated(number, numbers[index - 1]))).toEqual([]);
  await parts.until('the call is settled', async () => (await phone.call()).status === 'completed');
  expect(await phone.call()).toEqual({
    ...ENDED,
    said: [GREETED, ...ASKED_AND_ANSWERED, ...ASKED_AND_ANSWERED],
  });
});

itNeeds(['chromium'])(
  'a stopped worker hands the call of a browser over, which connects to the next one by itself',
  { timeout: 120_000 },
  async () => {
    const browser = await launchBrowser();
    try {
      const visitor = await TalkPage.open(browser, parts);
      await greeted(visitor);
      await replaceWorker('third');
      await asksInWriting(visitor);
      const sessionId = await visitor.sessionId();
      await visitor.press('Hang up');
      const call = () => callSoFar(parts, sessionId);
      await parts.until('the call is settled', async () => (await call()).status === 'completed');
      expect(await call()).toEqual({
        ...ENDED,
        said: [GREETED, expect.stringContaining('opening hours'), expect.stringContaining(OPENING_HOURS)],
      });
    } finally {
      await browser.close();
    }
  },
);

it('a stopped control plane serves on while its readiness says no, until the load balancer has noticed', {
  timeout: 120_000,
}, async () => {
  expect(await statusOf('/readyz/requests')).toBe(200);
  controlPlane.signal('SIGTERM');
  await parts.until('readiness says no', async () => (await statusOf('/readyz/requests')) === 503);
  expect(await statusOf('/v1/account')).toBe(200);
  expect(controlPlane.hasEnded).toBe(false);
  expect(await controlPlane.ended()).toBe(0);
});

/** Sequence numbers wrap around. */
function isRepeated(number: number, before: number | undefined): boolean {
  return before !== undefined && ((number - before) << 16) >> 16 <= 0;
}

/** Starts the next worker and stops the present one as a deploy does. */
async function replaceWorker(name: string): Promise<void> {
  const successor = await parts.start('worker', name);
  await parts.stop(worker);
  worker = successor;
}

async function greeted(visitor: TalkPage): Promise<void> {
  await visitor.press('Type instead');
  await visitor.line('Agent', GREETING);
  await visitor.status('Listening');
}

async function asksInWriting(visitor: TalkPage): Promise<void> {
  await visitor.type('What are your opening hours?');
  await visitor.line('Agent', OPENING_HOURS);
  await visitor.status('Listening');
}

async function scrape(url: string): Promise<(series: string) => number | null> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return (series) => sampleIn(text, series);
}

async function healthOf(program: Program): Promise<string> {
  return (await program.printed(/^Health +(http:\S+)\/readyz/m))[1] ?? '';
}

async function statusOf(path: string): Promise<number> {
  const headers = { authorization: `Bearer ${parts.rootKey}` };
  const answer = await fetch(`${parts.url}${path}`, { headers });
  await answer.arrayBuffer();
  return answer.status;
}
