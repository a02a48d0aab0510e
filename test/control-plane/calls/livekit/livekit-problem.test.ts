import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Logger } from '#base/log.ts';
import { checkLivekit } from '#cli/doctor-livekit.ts';
import { readSettings } from '#config/env.ts';
import { startRoomReconciliation } from '#control-plane/calls/livekit/reconcile-rooms.ts';
import { openRooms } from '#control-plane/platform/open-rooms.ts';
import { type LivekitServer, startLivekitServer } from '#test/fakes/livekit-server.ts';
import { openWebhookReceiver, type WebhookReceiver } from '#test/fakes/webhook-receiver.ts';
import { describeNeeds } from '#test/needs.ts';
import { openTestApi } from '../../test-api.ts';

/** What the start logs about LiveKit. */
async function startLog(environment: Record<string, string>): Promise<string[]> {
  const said: string[] = [];
  const api = await openTestApi(environment);
  const { settings, logger } = api.context;
  const spoken = Object.assign(Object.create(logger), {
    warn: (text: unknown) => said.push(String(text)),
  }) as Logger;
  const rooms = openRooms(settings, logger);
  const loop = startRoomReconciliation({ ...api.context, rooms, logger: spoken });
  await loop.close();
  await expect.poll(() => said, { timeout: 10_000 }).not.toEqual([]);
  await api.close();
  return said;
}

async function doctor(environment: Record<string, string>) {
  const results = [];
  for await (const result of checkLivekit(readSettings(environment))) results.push(result);
  return results;
}

describeNeeds(['livekit-server'])('a LiveKit server', () => {
  let server: LivekitServer;
  let other: WebhookReceiver;
  let proxy: WebhookReceiver;
  beforeAll(async () => {
    [server, other, proxy] = await Promise.all([
      startLivekitServer(),
      openWebhookReceiver(),
      openWebhookReceiver(),
    ]);
    other.answer = () => ({ status: 404 });
    proxy.answer = () => ({ status: 503 });
  });
  afterAll(() => Promise.all([server.close(), other.close(), proxy.close()]));

  it('with the right settings passes the check of the doctor', async () => {
    expect(await doctor(server.environment)).toEqual([
      {
        subject: 'LiveKit',
        verdict: 'ok',
        result: `${server.environment.LIVEKIT_URL} answers and accepts the key`,
      },
    ]);
    expect(await doctor({})).toEqual([]);
  });

  it.each<[string, string, () => Record<string, string>]>([
    ['LIVEKIT_API_SECRET', 'refuses', () => ({ LIVEKIT_API_SECRET: 'another-secret-that-is-long-enough' })],
    ['LIVEKIT_API_KEY', 'does not know this key', () => ({ LIVEKIT_API_KEY: 'another' })],
    ['LIVEKIT_URL', 'no LiveKit server answers', () => ({ LIVEKIT_URL: 'ws://127.0.0.1:1' })],
    ['LIVEKIT_URL', 'answers with HTTP 503(;|$)', () => ({ LIVEKIT_URL: proxy.url.replace('http', 'ws') })],
    ['LIVEKIT_URL', 'not LiveKit', () => ({ LIVEKIT_URL: other.url.replace('http', 'ws') })],
  ])('with a wrong %s is reported at the start and by the doctor: %s', async (setting, text, wrong) => {
    const environment = { ...server.environment, ...wrong() };
    const [result] = await doctor(environment);
    expect(result).toMatchObject({ verdict: 'failed', fix: expect.stringContaining(setting) });
    expect(result?.result).toMatch(new RegExp(text));
    expect(await startLog(environment)).toEqual([
      expect.stringMatching(new RegExp(`^${setting}: .*${text}`)),
    ]);
    expect(JSON.stringify(result)).not.toMatch(/eyJ|secret-that/);
  });
});
