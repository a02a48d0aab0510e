/**
 * Journey: an installation of the last release is upgraded part by part under calls: control plane, worker,
 * signalling.
 */
import { rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describePossible } from '#test/needs.ts';
import { ASKED_AND_ANSWERED, callAndListen } from './asked-by-phone.ts';
import { lastReleaseObstacle, unpackLastRelease } from './last-release.ts';
import { Parts } from './parts.ts';
import { greetWith } from './tenant.ts';
import { GREETING } from './web-conversation.ts';

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
    const root = lastRelease;
    const [oldControlPlane, oldSignalling, oldWorker] = await Promise.all([
      parts.start('control-plane', 'one', { root }),
      parts.start('signalling', 'one', { root }),
      parts.start('worker', 'one', { root }),
    ]);
    await greetWith(parts, GREETING);
    const first = await callAndListen(parts, '+15557650001');
    await first.ask();

    await parts.stop(oldControlPlane);
    await parts.start('control-plane', 'one');
    await parts.until('the call is known again', async () => (await first.call()).status === 'active');
    const worker = await parts.start('worker', 'two');
    // The last release keeps its calls until they end.
    await Promise.all([first.ask().then(() => first.hangUp()), parts.stop(oldWorker)]);

    const second = await callAndListen(parts, '+15557650002');
    const successor = await parts.start('worker', 'three');
    // It hands its call over while the signalling is still the old one.
    await parts.stop(worker);
    expect((await second.call()).status).toBe('active');
    await parts.stop(oldSignalling);
    await parts.start('signalling', 'one');
    await successor.printed(/was lost; reconnecting"[\s\S]*"connected to the SIP server"/);
    await second.ask();
    await second.hangUp();

    const calls = () => Promise.all([first.call(), second.call()]);
    await parts.until('every call is settled', async () =>
      (await calls()).every(({ status }) => status === 'completed'),
    );
    const ended = { status: 'completed', end_reason: 'user_hangup' };
    expect(await calls()).toEqual([
      { ...ended, said: [`assistant: ${GREETING}`, ...ASKED_AND_ANSWERED, ...ASKED_AND_ANSWERED] },
      { ...ended, said: [`assistant: ${GREETING}`, ...ASKED_AND_ANSWERED] },
    ]);
  });
});
