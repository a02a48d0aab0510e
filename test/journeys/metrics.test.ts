/** Journey: after a phone call, the metrics of every part of the running product tell of it. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sampleIn } from '#test/fakes/metric-sample.ts';
import { callAndListen } from './asked-by-phone.ts';
import { Parts } from './parts.ts';
import type { Program } from './program.ts';
import { greetWith } from './tenant.ts';
import { GREETING } from './web-conversation.ts';

let parts: Parts;
let signalling: Program;
let worker: Program;

beforeAll(async () => {
  parts = await Parts.open({ RTP_PORT_MIN: '39600', RTP_PORT_MAX: '39699', HEALTH_PORT: '0' });
  [, signalling, worker] = await Promise.all([
    parts.start('control-plane', 'control-plane'),
    parts.start('signalling', 'signalling'),
    parts.start('worker', 'worker'),
  ]);
  await greetWith(parts, GREETING);
}, 120_000);
afterAll(() => parts.close());

async function scrape(url: string): Promise<(series: string) => number | null> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return (series) => sampleIn(text, series);
}

async function healthOf(program: Program): Promise<string> {
  return (await program.printed(/^Health +(http:\S+)\/readyz/m))[1] ?? '';
}

it('a phone call with a question is in the metrics of all parts', { timeout: 120_000 }, async () => {
  const phone = await callAndListen(parts, '+15557650001');
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
