/**
 * Journey: the product on a real drachtio-server (docs/drachtio.md), if installed: inbound and outbound calls
 * with audio, each recovered by failover after a worker is killed, and one transferred by REFER.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { voicedSeconds } from '#caller/voiced.ts';
import { answerPhone, dial, type Phone } from '#test/fakes/baresip.ts';
import { DRACHTIO_PROGRAM, type DrachtioServer, startDrachtioServer } from '#test/fakes/drachtio-server.ts';
import { callTool, type OpenaiServer, say, startOpenaiServer } from '#test/fakes/openai-server.ts';
import { startSippPhone } from '#test/fakes/sipp-phone.ts';
import { tone } from '#test/fakes/tone.ts';
import { freeTcpPort } from '#test/free-port.ts';
import { describeWhereThere } from '#test/needs.ts';
import { type Product, startProduct } from './product.ts';
import { Program } from './program.ts';
import { settled } from './web-conversation.ts';

const RATE_HZ = 8_000;
const PATIENCE = { timeout: 60_000 };
/** Audio still on its way to a phone when the worker died, samples. */
const LEFT_OVER = 0.4 * RATE_HZ;
/** Two minutes of speech, during which one worker is started and another killed. */
const LONG_STORY = Array.from(
  { length: 40 },
  () => 'This is a long story about nothing that goes on and on',
).join(', ');
const DESTINATION = '+14155550142';

describeWhereThere([DRACHTIO_PROGRAM, 'baresip', 'sipp'])('the product on a drachtio-server', () => {
  let drachtio: DrachtioServer;
  let product: Product;
  let model: OpenaiServer;
  let phones: Phone[];
  let signalling: Readonly<Record<string, string>>;
  let standby: Program;
  let standbyData: string;

  beforeAll(async () => {
    phones = [];
    const [port, secret, token] = [
      await freeTcpPort(),
      randomBytes(12).toString('hex'),
      randomBytes(12).toString('hex'),
    ];
    drachtio = await startDrachtioServer({
      secret,
      controlPlane: `http://drachtio:${token}@127.0.0.1:${port}`,
    });
    standbyData = mkdtempSync(join(tmpdir(), 'parley-standby-'));
    signalling = {
      WORKER_TOKEN: token,
      DRACHTIO_HOST: '127.0.0.1',
      DRACHTIO_PORT: String(drachtio.appPort),
      DRACHTIO_SECRET: secret,
    };
    const environment = { PORT: String(port), ...signalling };
    [product, model] = await Promise.all([
      startProduct({ environment, sipPort: drachtio.sipPort }),
      startOpenaiServer({
        chat: () =>
          isHandingOver
            ? callTool('_transfer_call', { destination: 'Sales', notes: 'Wants to buy.' })
            : say('Seven it is.'),
      }),
    ]);
  });
  afterAll(async () => {
    await Promise.all(phones.map((phone) => phone.close()));
    await product?.close();
    await standby?.close();
    rmSync(standbyData, { recursive: true, force: true });
    await drachtio?.close();
    await model?.close();
  });

  let isHandingOver = false;
  const voiced = (phone: Phone, since = 0) => voicedSeconds(phone.heard().subarray(since), RATE_HZ);
  const hears = (phone: Phone, seconds: number, since = 0) =>
    expect.poll(() => voiced(phone, since), PATIENCE).toBeGreaterThan(seconds);

  async function newAgent(config: Record<string, unknown>): Promise<string> {
    const llm = { custom: { base_url: model.url, model: 'stand-in', api_key: 'none' } };
    const { agent_id } = await product.ask('POST', '/v1/agent/agents', {
      name: 'An agent',
      config: { llm, ...config },
    });
    await product.ask('POST', `/v1/agent/agents/${agent_id}/publish`);
    return agent_id;
  }

  const conversation = {
    keypad_input: { enabled: true, inter_digit_timeout_seconds: 1 },
    outbound: { amd_enabled: false },
  };
  const storyteller = () =>
    newAgent({
      prompt: { system_prompt: 'You tell stories.', first_message_mode: 'fixed', first_message: LONG_STORY },
      conversation,
    });

  /** Calls through a trunk whose far end is this phone; resolves with the session. */
  async function callOut(agentId: string, trunk: string, from: string): Promise<string> {
    const number = {
      provider: 'sip',
      phone_number: from,
      inbound_allowed_addresses: ['127.0.0.1'],
      termination_uri: trunk,
    };
    const { phone_number_id } = await product.ask('POST', '/v1/agent/phone-numbers', number);
    return (
      await product.ask('POST', '/v1/agent/phone-calls', {
        agent_id: agentId,
        phone_number_id,
        to_number: '+4930123480',
      })
    ).session_id;
  }

  async function callIn(agentId: string): Promise<{ phone: Phone; sessionId: string }> {
    const { phone_number } = await product.ask('POST', '/v1/agent/phone-numbers', {
      provider: 'managed',
      phone_number: '+15550105001',
      agent_id: agentId,
    });
    const phone = await dial(product.sipAddress(phone_number), tone(440, 120_000), { user: '+15557654001' });
    phones.push(phone);
    const active = async () => (await product.ask('GET', '/v1/agent/sessions?status=active')).sessions;
    await expect.poll(async () => (await active()).length, PATIENCE).toBe(1);
    return { phone, sessionId: (await active())[0].session_id };
  }

  /** Starts a second worker in advance: a busy machine might not restart the lost one in time. */
  async function startStandby(): Promise<void> {
    const ports = { RTP_PORT_MIN: '18000', RTP_PORT_MAX: '18099', PORT: '0', HOST: '127.0.0.1' };
    standby = new Program('worker', {
      ...signalling,
      ...ports,
      CONTROL_PLANE_URL: product.url,
      DATA_DIR: standbyData,
      EGRESS_ALLOW: '127.0.0.1',
    });
    await standby.printed(/connected to the control plane/);
  }

  async function expectContinuedWith(
    { phone, sessionId }: { readonly phone: Phone; readonly sessionId: string },
    killedAt: number,
  ): Promise<void> {
    await hears(phone, 0.8, killedAt);
    await phone.press('7');
    const items = async () =>
      JSON.stringify((await product.ask('GET', `/v1/agent/sessions/${sessionId}`)).items);
    await expect.poll(items, PATIENCE).toContain('Seven it is.');
  }

  it('inbound and outbound calls have audio, survive a killed worker, and end when the phone hangs up', {
    timeout: 240_000,
  }, async () => {
    const agentId = await storyteller();
    const caller = await callIn(agentId);
    const called = await answerPhone(tone(440, 120_000), { user: '+4930123480' });
    phones.push(called);
    const talkers = [
      caller,
      { phone: called, sessionId: await callOut(agentId, called.address, '+4930999002') },
    ];
    await Promise.all(talkers.map(({ phone }) => hears(phone, 2)));
    await startStandby();
    expect(product.kill('worker')).toBeGreaterThan(0);
    const killedAt = talkers.map(({ phone }) => phone.heard().length + LEFT_OVER);
    await Promise.all(talkers.map((talker, index) => expectContinuedWith(talker, killedAt[index] ?? 0)));
    for (const { phone, sessionId } of talkers) {
      await phone.hangUp();
      expect(await settled(product, sessionId)).toMatchObject({
        status: 'completed',
        end_reason: 'user_hangup',
      });
    }
  });

  it('a call is transferred by REFER', { timeout: 120_000 }, async () => {
    isHandingOver = true;
    const destination = {
      label: 'Sales',
      type: 'phone',
      phone_number: DESTINATION,
      mode: 'cold',
      announcement_mode: 'off',
    };
    const agentId = await newAgent({
      prompt: { system_prompt: 'You connect people.', first_message_mode: 'prompt' },
      conversation: { ...conversation, transfer_destinations: [destination] },
    });
    const trunk = await startSippPhone({
      does: 'refer',
      to: DESTINATION.slice(1),
      status: 202,
      notifies: [100, 180, 200],
    });
    const sessionId = await callOut(agentId, trunk.address, '+4930999003');
    expect(await settled(product, sessionId)).toMatchObject({ status: 'completed', end_reason: 'escalated' });
    expect((await trunk.ended).code).toBe(0);
  });
});
