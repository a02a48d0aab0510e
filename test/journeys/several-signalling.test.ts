/**
 * Journey: two signalling processes and two workers behind the Kamailio of the documentation, under twenty
 * calls. Prints how long callers wait for a new call after a server was killed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Kamailio, startDispatcher } from '#test/fakes/kamailio.ts';
import { openWebhookReceiver, type WebhookReceiver } from '#test/fakes/webhook-receiver.ts';
import { freeTcpPort, freeUdpPort } from '#test/free-port.ts';
import { describeWhereThere } from '#test/needs.ts';
import { callLive, type LivePhone } from './live-phone.ts';
import { type Product, startProduct } from './product.ts';
import { Program } from './program.ts';

const CALLS = 20;
/** Calls that hang up at once after the loss, before they have moved. */
const HASTY = 4;
const NUMBER = '+15550100777';
const PATIENCE_MS = 60_000;

describeWhereThere(['kamailio'])('calls at two signalling servers behind a dispatcher', () => {
  let folder: string;
  let tenant: WebhookReceiver;
  let kamailio: Kamailio;
  let product: Product;
  let worker: Program;
  let shared: Record<string, string>;
  let appPorts: number[];
  let sipPorts: number[];
  let servers: Program[];
  let called: number;

  beforeEach(async () => {
    called = 0;
    folder = mkdtempSync(join(tmpdir(), 'parley-signalling-'));
    appPorts = [await freeTcpPort(), await freeTcpPort()];
    sipPorts = [await freeUdpPort(), await freeUdpPort()];
    const port = await freeTcpPort();
    shared = {
      HOST: '127.0.0.1',
      CONTROL_PLANE_URL: `http://127.0.0.1:${port}`,
      WORKER_TOKEN: 'the-token-of-all-workers',
      DRACHTIO_SECRET: 'the-secret-of-signalling',
      LOCAL_LLM_URL: 'off',
      LOG_LEVEL: 'warn',
    };
    servers = await Promise.all([0, 1].map(startServer));
    kamailio = await startDispatcher(sipPorts);
    tenant = await openWebhookReceiver();
    const atServers = { DRACHTIO_SERVERS: appPorts.map((appPort) => `127.0.0.1:${appPort}`).join(',') };
    product = await startProduct({
      environment: { ...shared, ...atServers, PORT: String(port), DRAIN_SECONDS: '0' },
      sipPort: Number(kamailio.address.split(':')[1]),
    });
    worker = new Program('worker', {
      ...shared,
      ...atServers,
      DATA_DIR: join(folder, 'worker'),
      RTP_PORT_MIN: '41000',
      RTP_PORT_MAX: '41199',
    });
    await worker.printed(/^Works for/m);
    await bindNumber();
  }, 180_000);
  afterEach(async () => {
    await worker?.close();
    await product?.close();
    await kamailio?.close();
    for (const server of servers) await server.close();
    await tenant?.close();
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  async function startServer(which: number): Promise<Program> {
    const server = new Program('signalling', {
      ...shared,
      SIP_PORT: String(sipPorts[which]),
      DRACHTIO_HOST: '127.0.0.1',
      DRACHTIO_PORT: String(appPorts[which]),
    });
    await server.printed(/^Signalling/m);
    return server;
  }

  async function bindNumber(): Promise<void> {
    const { agent_id: id } = await product.ask('POST', '/v1/agent/agents', {
      name: 'Switchboard',
      config: {
        prompt: { system_prompt: 'You answer.', first_message_mode: 'fixed', first_message: 'Hello.' },
        webhooks: { post_call: [{ url: `${tenant.url}/hook` }] },
      },
    });
    await product.ask('POST', `/v1/agent/agents/${id}/publish`);
    await product.ask('POST', '/v1/agent/phone-numbers', {
      provider: 'managed',
      phone_number: NUMBER,
      agent_id: id,
    });
  }

  async function call(): Promise<LivePhone> {
    const phone = await callLive(product.sipAddress(NUMBER), '+15551230000');
    called += 1;
    return phone;
  }

  /** Calls until one is answered; prints after how long. */
  async function callAgain(since: string): Promise<LivePhone> {
    const startedMs = performance.now();
    let phone: LivePhone | null = null;
    // The dispatcher may not have noticed yet that a server is back.
    await product.until('a call is answered', async () => {
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
    await product.until('every call has had two seconds of audio', () =>
      phones.every((phone) => sinceLoss(phone).length >= 100),
    );
    const gaps = phones.slice(0, -1).map((phone) => worstGapMs(sinceLoss(phone)));
    console.log(`the worst gap in the audio of ${gaps.length} calls was ${Math.round(Math.max(...gaps))} ms`);

    await Promise.all(phones.splice(0).map((phone) => phone.hangUp()));
    await product.until('every call was reported', () => ended().length >= called, PATIENCE_MS);

    // The other is lost while the first is back.
    servers[0] = await startServer(0);
    await expect.poll(async () => await isServed(), { timeout: PATIENCE_MS }).toBe(true);
    servers[1]!.signal('SIGKILL');
    await (await callAgain('after the loss of the other')).hangUp();

    await product.until('every call was reported', () => ended().length >= called, PATIENCE_MS);
    expect(new Set(ended().map(({ body }) => body.session.id)).size).toBe(called);
    expect(ended().map(({ body }) => body.session.end_reason)).toEqual(
      Array.from({ length: called }, () => 'user_hangup'),
    );
    expect((await product.ask('GET', '/admin/wallets/verify')).flaws).toEqual([]);
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
