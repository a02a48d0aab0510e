/**
 * Journey: an installation of the last release is upgraded part by part under calls: control plane, worker,
 * signalling.
 */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SceneFile } from '#caller/scene.ts';
import { describePossible } from '#test/needs.ts';
import { lastReleaseObstacle, unpackLastRelease } from './last-release.ts';
import { Parts } from './parts.ts';

const PORTS = { first: 41_700, last: 41_799 };
const ASK: SceneFile['steps'] = [
  { do: 'say', text: 'What are your opening hours?' },
  { do: 'listen', quiet_ms: 1_500 },
];
/** For so long a call is quiet between two questions while a part is replaced. */
const QUIET_MS = 12_000;
const ANSWERED = { type: 'answered', endedBy: 'caller' };
const GREETING = expect.stringMatching(/^assistant: Hello, this is the Parley demo/);
const ASKED_AND_ANSWERED = [
  'user: what are your opening hours',
  expect.stringMatching(/^assistant: We are open every day/),
];

let lastRelease: string;
let parts: Parts;

describePossible(lastReleaseObstacle())('an upgrade from the last release', () => {
  beforeAll(async () => {
    lastRelease = unpackLastRelease();
    parts = await Parts.open({ RTP_PORT_MIN: '39200', RTP_PORT_MAX: '39399' });
  });
  afterAll(async () => {
    await parts?.close();
    rmSync(lastRelease, { recursive: true, force: true });
  });

  it('drops no call, whichever parts are already new', { timeout: 180_000 }, async () => {
    const oldControlPlane = await parts.start('control-plane', 'one', lastRelease);
    const oldSignalling = await parts.start('signalling', 'one', lastRelease);
    const oldWorker = await parts.start('worker', 'one', lastRelease);
    const withOldWorker = parts.call(PORTS, [
      { do: 'listen' },
      ...ASK,
      { do: 'pause', ms: QUIET_MS },
      ...ASK,
    ]);
    await parts.until('the question is answered', async () => (await newest())?.said.length === 3);

    await parts.stop(oldControlPlane);
    await parts.start('control-plane', 'one');
    await parts.until('the call is known again', async () => (await newest())?.status === 'active');
    const worker = await parts.start('worker', 'two');
    await parts.stop(oldWorker);
    expect((await withOldWorker).outcome).toEqual(ANSWERED);

    const withOldSignalling = parts.call(PORTS, [{ do: 'listen' }, { do: 'pause', ms: QUIET_MS }, ...ASK]);
    await parts.until('the greeting is over', async () => (await newest())?.said.length === 1);
    const successor = await parts.start('worker', 'three');
    // It hands its call over while the signalling is still the old one.
    await parts.stop(worker);
    expect((await newest())?.status).toBe('active');
    await parts.stop(oldSignalling);
    await parts.start('signalling', 'one');
    await successor.printed(/was lost; reconnecting"[\s\S]*"connected to the SIP server"/);
    expect((await withOldSignalling).outcome).toEqual(ANSWERED);

    await parts.until('every call is settled', async () =>
      (await parts.sessions()).every(({ status }) => status === 'completed'),
    );
    expect(await parts.sessions()).toEqual([
      { status: 'completed', end_reason: 'user_hangup', said: [GREETING, ...ASKED_AND_ANSWERED] },
      {
        status: 'completed',
        end_reason: 'user_hangup',
        said: [GREETING, ...ASKED_AND_ANSWERED, ...ASKED_AND_ANSWERED],
      },
    ]);
  });
});

async function newest() {
  return (await parts.sessions())[0];
}
