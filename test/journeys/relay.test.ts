/**
 * Journey: the product with an rtpengine in front of its workers (docs/rtpengine.md). A caller asks, is
 * understood and answered, and is joined with a person; the audio of every leg passes through the relay.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { voicedSeconds } from '#caller/voiced.ts';
import { answerPhone, dial, type Phone } from '#test/fakes/baresip.ts';
import { callTool, type OpenaiServer, say, startOpenaiServer } from '#test/fakes/openai-server.ts';
import { type Rtpengine, startRtpengine } from '#test/fakes/rtpengine.ts';
import { power, tone } from '#test/fakes/tone.ts';
import { describeWhereThere } from '#test/needs.ts';
import { type Product, startProduct } from './product.ts';
import { settled } from './web-conversation.ts';

const RATE_HZ = 8_000;
const [CALLERS_HZ, PERSONS_HZ] = [440, 1_000];
/** Tone power above which the tone counts as heard. */
const HEARD = 100_000;
const CALLER = '+15557656001';

describeWhereThere(['rtpengine', 'baresip'])('the product behind an rtpengine', () => {
  let rtpengine: Rtpengine;
  let product: Product;
  let model: OpenaiServer;
  let person: Phone;
  let caller: Phone | null;

  beforeAll(async () => {
    caller = null;
    rtpengine = await startRtpengine();
    const { host, port } = rtpengine.address;
    const environment = {
      RTPENGINE: `${host}:${port}`,
      RTPENGINE_INTERFACES: `${rtpengine.interfaces.network},${rtpengine.interfaces.worker}`,
    };
    [product, model, person] = await Promise.all([
      startProduct({ environment }),
      startOpenaiServer({
        chat: ({ messages }) =>
          /Keypad entry: 1/.test(JSON.stringify(messages))
            ? callTool('_transfer_call', { destination: 'Desk', notes: '' })
            : say('Seven it is.'),
      }),
      answerPhone(tone(PERSONS_HZ, 120_000)),
    ]);
  });
  afterAll(async () => {
    await caller?.close();
    await person?.close();
    await product?.close();
    await model?.close();
    await rtpengine?.close();
  });

  const hears = (phone: Phone, hz: number) =>
    product.until(`${hz} Hz is heard`, () => power(phone.heard().subarray(-RATE_HZ), hz) > HEARD);

  it('sends both legs of an answered and joined call through the relay, which keeps nothing afterwards', {
    timeout: 180_000,
  }, async () => {
    const destination = {
      label: 'Desk',
      type: 'sip',
      sip_uri: person.uri,
      mode: 'warm',
      warm_connect: 'direct',
    };
    const { agent_id } = await product.ask('POST', '/v1/agent/agents', {
      name: 'Receptionist',
      config: {
        prompt: {
          system_prompt: 'You answer the phone.',
          first_message_mode: 'fixed',
          first_message: 'Hello, this is the front desk.',
        },
        conversation: {
          keypad_input: { enabled: true, inter_digit_timeout_seconds: 1 },
          transfer_destinations: [destination],
        },
        llm: { custom: { base_url: model.url, model: 'stand-in', api_key: 'none' } },
      },
    });
    await product.ask('POST', `/v1/agent/agents/${agent_id}/publish`);
    const trunk = { inbound_allowed_addresses: ['127.0.0.1'], termination_uri: person.address };
    const number = await product.ask('POST', '/v1/agent/phone-numbers', {
      provider: 'sip',
      phone_number: '+4930999006',
      agent_id,
      ...trunk,
    });
    const phone = await dial(product.sipAddress(number.phone_number), tone(CALLERS_HZ, 120_000), {
      user: CALLER,
    });
    caller = phone;
    await product.until('the agent is heard', () => voicedSeconds(phone.heard(), RATE_HZ) > 0.5);
    expect(await rtpengine.calls()).toBe(1);
    const { sessions } = await product.ask(
      'GET',
      `/v1/agent/sessions?caller_number=${encodeURIComponent(CALLER)}`,
    );
    const sessionId: string = sessions[0].session_id;
    await phone.press('7');
    const items = async () =>
      JSON.stringify((await product.ask('GET', `/v1/agent/sessions/${sessionId}`)).items);
    await product.until('the key is answered', async () => (await items()).includes('Seven it is.'));
    await phone.press('1');
    await hears(person, CALLERS_HZ);
    await hears(phone, PERSONS_HZ);
    expect(await rtpengine.calls()).toBe(2);
    await phone.hangUp();
    expect(await settled(product, sessionId)).toMatchObject({
      status: 'completed',
      end_reason: 'escalated',
      media_quality: { mos: expect.any(Number) },
    });
    await product.until('the relay has nothing left', async () => (await rtpengine.calls()) === 0);
  });
});
