/**
 * Journey: two signalling processes and two workers behind the Kamailio of the documentation, under twenty
 * calls. Prints how long callers wait for a new call after a server was killed.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Kamailio, startDispatcher } from '#test/fakes/kamailio.ts';
import { openWebhookReceiver, type WebhookReceiver } from '#test/fakes/webhook-receiver.ts';
import { freeTcpPort, freeUdpPort } from '#test/free-port.ts';
import { describeWhereThere } from '#test/needs.ts';
import { callLive, type LivePhone } from './live-phone.ts';
import { Parts } from './parts.ts';
import type { Program } from './program.ts';
import { agentAt } from './tenant.ts';

const CALLS = 20;
/** Calls that hang up at once after the loss, before they have moved. */
const HASTY = 4;
const NUMBER = '+15550100777';
const PATIENCE_MS = 60_000;

describeWhereThere(['kamailio'])('calls at two signalling servers behind a dispatcher', () => {
  let tenant: WebhookReceiver;
  let kamailio: Kamailio;
  let parts: Parts;
  let sipPorts: number[];
  let appPorts: number[];
  let servers: Program[];
  let called: number;

  beforeEach(async () => {
    called = 0;
    sipPorts = [await freeUdpPort(), await freeUdpPort()];
    appPorts = [await freeTcpPort(), await freeTcpPort()];
    kamailio = await startDispatcher(sipPorts);
    tenant = await openWebhookReceiver();
    parts = await Parts.open({
      DRACHTIO_SERVERS: appPorts.map((port) => `127.0.0.1:${port}`).join(','),
      LOG_LEVEL: 'warn',
    });
    [, ...servers] = await Promise.all([
      parts.start('control-plane', 'control-plane'),
      startServer(0),
      startServer(1),
    ]);
    await Promise.all([startWorker('first', 41_000), startWorker('second', 41_200)]);
    await agentAt(parts, NUMBER, {
      prompt: { system_prompt: 'You answer.', first_message_mode: 'fixed', first_message: 'Hello.' },
      webhooks: { post_call: [{ url: `${tenant.url}/hook` }] },
    });
  }, 180_000);
  afterEach(async () => {
    await parts?.close();
    await kamailio?.close();
    await tenant?.close();
  }, 60_000);

  function startServer(which: 0 | 1): Promise<Program> {
    return parts.start('signalling', `signalling-${which}`, {
      settings: { SIP_PORT: String(sipPorts[which]), DRACHTIO_PORT: String(appPorts[which]) },
    });
  }

  function startWorker(name: string, firstPort: number): Promise<Program> {
    return parts.start('worker', name, {
      settings: {
        RTP_PORT_MIN: String(firstPort),
        RTP_PORT_MAX: String(firstPort + 199),
        // For `start`, which waits for a line of it.
        LOG_LEVEL: 'info',
      },
    });
  }

  async function call(): Promise<LivePhone> {
    const phone = await callLive(`sip:${NUMBER}@${kamailio.address}`, '+15551230000');
    called += 1;
    return phone;
  }

  /** Calls until one is answered; prints after how long. */
  async function callAgain(since: string): Promise<LivePhone> {
    const startedMs = performance.now();
    let phone: LivePhone | null = null;
    // The dispatcher may not have noticed yet that a server is back.
    await parts.until('a call is answered', async () => {
      phone = await call();
      return true;
    });
    console.log(`the first call ${since} was answered after ${Math.round(performance.now() - startedMs)} ms`);
    if (phone === null) throw new Error('unreachable');
    return phone;
  }

  const ended = () => tenant.received.filter(({ body }) => body.event === 'call.ended');

  it('go on when one is killed, end with the hang-up that comes through the other, and new ones come in', {
    timeout: 240_000,
  }, async () => {
    const phones: LivePhone[] = [];
    for (let batch = 0; batch < CALLS / 5; batch++)
      phones.push(...(await Promise.all([1, 2, 3, 4, 5].map(call))));

    servers[0]!.signal('SIGKILL');
    const lostMs = performance.now();
    const next = callAgain('after the loss of a server');
    await Promise.all(phones.splice(0, HASTY).map((phone) => phone.hangUp()));
    phones.push(await next);

    // Every call has audio of its agent from the moment of the loss on.
    const sinceLoss = (phone: LivePhone) => phone.heard().filter(({ atMs }) => atMs >= lostMs);
    await parts.until('every call has had two seconds of audio', () =>
      phones.every((phone) => sinceLoss(phone).length >= 100),
    );
    const gaps = phones.slice(0, -1).map((phone) => worstGapMs(sinceLoss(phone)));
    console.log(`the worst gap in the audio of ${gaps.length} calls was ${Math.round(Math.max(...gaps))} ms`);

    await Promise.all(phones.splice(0).map((phone) => phone.hangUp()));
    await parts.until('every call was reported', () => ended().length >= called, PATIENCE_MS);

    // The other is lost while the first is back.
    servers[0] = await startServer(0);
    await expect.poll(async () => await isServed(), { timeout: PATIENCE_MS }).toBe(true);
    servers[1]!.signal('SIGKILL');
    await (await callAgain('after the loss of the other')).hangUp();

    await parts.until('every call was reported', () => ended().length >= called, PATIENCE_MS);
    expect(new Set(ended().map(({ body }) => body.session.id)).size).toBe(called);
    expect(ended().map(({ body }) => body.session.end_reason)).toEqual(
      Array.from({ length: called }, () => 'user_hangup'),
    );
    expect((await parts.ask('GET', '/admin/wallets/verify')).flaws).toEqual([]);
  });

  /** True once a call at the first server is answered: its workers are back. */
  async function isServed(): Promise<boolean> {
    const address = `sip:${NUMBER}@127.0.0.1:${sipPorts[0]}`;
    return callLive(address, '+15551239999').then(
      async (phone) => {
        called += 1;
        await phone.hangUp();
        return true;
      },
      () => false,
    );
  }
});

/** The longest time without a packet. */
function worstGapMs(heard: readonly { readonly atMs: number }[]): number {
  return Math.max(...heard.slice(1).map(({ atMs }, index) => atMs - (heard[index]?.atMs ?? atMs)));
}
