/**
 * Journey: callers are transferred to people as a customer configures it, each way chosen by its label: by
 * REFER, after a spoken yes, and to a busy person. Caller and person are real phones; the test measures the
 * audio each of them receives, and the person's track of the recording.
 */
import { afterAll, beforeAll, expect } from 'vitest';
import { voicedSeconds } from '#caller/voiced.ts';
import { parseWav } from '#caller/wav.ts';
import { answerPhone, dial, type Phone } from '#test/fakes/baresip.ts';
import { callTool, type OpenaiServer, say, startOpenaiServer } from '#test/fakes/openai-server.ts';
import { type SippPhone, startSippPhone } from '#test/fakes/sipp-phone.ts';
import { power, tone } from '#test/fakes/tone.ts';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import { record } from './microphone.ts';
import type { Product } from './product.ts';
import { settled } from './web-conversation.ts';

const NEEDED = ['baresip', 'sipp', 'pocketsphinx_continuous'];
const RATE_HZ = 8_000;
const [CALLERS_HZ, PERSONS_HZ] = [440, 1_000];
/** Tone power above which the tone counts as heard. */
const HEARD = 100_000;
/** Repeats yes until it is understood, as people do; a tone after each yes identifies the speaker. */
const AGREES = Array.from({ length: 12 }, () => [
  ...record(['Yes, go ahead.', 0.5], RATE_HZ),
  ...tone(PERSONS_HZ, 3_000),
  ...new Int16Array(RATE_HZ),
]);

/** A busy machine may miss a key: people press it again. */
const AGAIN_MS = 10_000;

let product: Product;
let model: OpenaiServer;
let number: string;
/** A second number of the same agent, bought on the platform. */
let bought: string;
let busy: SippPhone;
let agreeing: Phone;
let referredTo: Phone;
const phones: Phone[] = [];

/** The operator's calls by bought numbers; those by imported ones do not count. */
export const ONE_CALL_A_MINUTE = { OUTBOUND_CALLS_PER_MINUTE: '1' };

/** Describes it on a shared product, which permits `ONE_CALL_A_MINUTE`. */
export function describeTransfer(stage: { readonly product: Product }): void {
  describeNeeds(NEEDED)('a caller who asks for a person', { concurrent: true }, () => {
    beforeAll(async () => {
      product = stage.product;
      model = await startOpenaiServer({ chat: ({ messages }) => answerTo(messages) });
      agreeing = await kept(answerPhone(Int16Array.from(AGREES.flat())));
      referredTo = await kept(answerPhone(tone(PERSONS_HZ, 120_000)));
      busy = await startSippPhone({ does: 'refuse', status: 486, from: `[+]${BUSY_CALLER.slice(1)}@` });
      ({ number, bought } = await setUp());
    });
    afterAll(async () => {
      await Promise.all(phones.map((phone) => phone.close()));
      busy?.giveUp();
      await model?.close();
    });

    itNeeds(NEEDED)(
      'is connected to a person who agrees aloud, and both are on record',
      { timeout: 240_000 },
      async () => {
        const caller = await call('+15557655001', '1');
        // The agent announces the caller and their subject to the person.
        await product.until(
          'the person hears the briefing',
          () => voicedSeconds(agreeing.heard(), RATE_HZ) > 2,
        );
        await hearsTone(agreeing, CALLERS_HZ);
        await hearsTone(caller, PERSONS_HZ);
        await caller.hangUp();
        const session = await settled(product, await sessionOf('+15557655001'));
        expect(session).toMatchObject({ status: 'completed', end_reason: 'escalated' });
        expect(results(session)).toMatchObject([{ status: 'completed' }]);
        const track = async () => {
          const { tracks } = await product.ask('GET', `/v1/agent/sessions/${session.session_id}/recording`);
          return tracks.find(
            ({ role, status }: { role: string; status: string }) => role === 'human' && status === 'complete',
          );
        };
        await product.until('the person is on record', async () => (await track()) !== undefined);
        const human = await heardOn(await track());
        expect(power(human, PERSONS_HZ)).toBeGreaterThan(HEARD / 10);
        expect(power(human, CALLERS_HZ)).toBeLessThan(power(human, PERSONS_HZ) / 50);
      },
    );

    itNeeds(NEEDED)('is handed over by REFER, which ends the session', { timeout: 240_000 }, async () => {
      const caller = await call('+15557655003', '3');
      await hearsTone(referredTo, CALLERS_HZ);
      const session = await settled(product, await sessionOf('+15557655003'));
      expect(session).toMatchObject({ status: 'completed', end_reason: 'escalated' });
      // The phones stay connected long after the agent has left.
      await referredTo.hangUp();
      await product.until(
        'the caller has heard the person',
        () => power(caller.heard(), PERSONS_HZ) > HEARD / 10,
      );
    });

    itNeeds(NEEDED)(
      'returns to the agent if the person is busy, who was shown the caller’s number, as configured',
      { timeout: 240_000 },
      async () => {
        const caller = await call(BUSY_CALLER, '2');
        expect((await busy.ended).code).toBe(0);
        const sessionId = await sessionOf(BUSY_CALLER);
        const hasSaid = async (text: string) =>
          (await product.ask('GET', `/v1/agent/sessions/${sessionId}`)).items.some(
            ({ content }: { content?: string }) => content === text,
          );
        await product.until('the agent is back', () => hasSaid(SORRY));
        const before = caller.heard().length;
        await caller.press('7');
        await product.until('it answers', () => hasSaid(ANSWER));
        await product.until(
          'its answer is heard',
          () => voicedSeconds(caller.heard().subarray(before), RATE_HZ) > 1,
        );
        await caller.hangUp();
        const session = await settled(product, sessionId);
        expect(session).toMatchObject({ status: 'completed', end_reason: 'user_hangup' });
        expect(results(session)).toMatchObject([{ status: 'failed', error: 'The person is busy.' }]);
      },
    );

    itNeeds(NEEDED)(
      'stays with the agent if the bought number’s account has placed its calls of the minute',
      { timeout: 240_000 },
      async () => {
        const caller = await call('+15557655004', '2', bought);
        const sessionId = await sessionOf('+15557655004');
        const errors = async () =>
          results(await product.ask('GET', `/v1/agent/sessions/${sessionId}`)).map(({ error }) => error);
        await product.until('one is tried', async () => (await errors()).length > 0);
        // A new minute may begin between two attempts, but not between all of them.
        const tooMany = 'Too many people were called in this minute; nobody can be called now.';
        await product.until('the minute is full', async () => {
          const tried = (await errors()).length;
          await caller.press('2');
          await product.until('another is tried', async () => (await errors()).length > tried, AGAIN_MS);
          return (await errors()).includes(tooMany);
        });
        expect((await errors())[0]).toBe('This number cannot place calls, so nobody can be asked first.');
        await caller.hangUp();
      },
    );
  });
}

const BUSY_CALLER = '+15557655002';
const SORRY = 'I am sorry, they are busy.';
const ANSWER = 'I have written the seven down.';

function answerTo(messages: readonly { readonly role: string; readonly content: unknown }[]) {
  const last = messages.at(-1);
  if (last?.role === 'tool') return say(SORRY);
  const key = /Keypad entry: (\d)/.exec(String(last?.content))?.[1] ?? '';
  const destination = { 1: 'Desk', 2: 'Sales', 3: 'Night line' }[key];
  return destination
    ? callTool('_transfer_call', { destination, notes: 'They want a refund.' })
    : say(ANSWER);
}

/**
 * Sets up an agent with three people to transfer callers to, at a number whose trunk leads to the busy one.
 */
async function setUp(): Promise<{ readonly number: string; readonly bought: string }> {
  const { agent_id } = await product.ask('POST', '/v1/agent/agents', {
    name: 'Receptionist',
    config: {
      prompt: {
        system_prompt: 'You answer the phone.',
        first_message_mode: 'fixed',
        first_message: 'Hello.',
      },
      conversation: {
        keypad_input: { enabled: true, inter_digit_timeout_seconds: 1 },
        transfer_destinations: [
          { label: 'Desk', type: 'sip', sip_uri: agreeing.uri, mode: 'warm', warm_connect: 'confirm' },
          { label: 'Sales', phone_number: '+14155550123', mode: 'warm', warm_connect: 'direct' },
          { label: 'Night line', type: 'sip', sip_uri: referredTo.uri, mode: 'cold' },
        ],
      },
      llm: { custom: { base_url: model.url, model: 'stand-in', api_key: 'none' } },
    },
  });
  await product.ask('POST', `/v1/agent/agents/${agent_id}/publish`);
  const trunk = { inbound_allowed_addresses: ['127.0.0.1'], termination_uri: busy.address };
  const imported = await product.ask('POST', '/v1/agent/phone-numbers', {
    provider: 'sip',
    phone_number: '+4930999003',
    agent_id,
    ...trunk,
  });
  await product.ask('PATCH', `/v1/agent/phone-numbers/${imported.phone_number_id}`, {
    transfer_caller_id: 'original_caller',
  });
  const managed = { provider: 'managed', phone_number: '+15550100007', agent_id };
  await product.ask('POST', '/v1/agent/phone-numbers', managed);
  return { number: imported.phone_number, bought: managed.phone_number };
}

async function kept(starting: Promise<Phone>): Promise<Phone> {
  const phone = await starting;
  phones.push(phone);
  return phone;
}

/** Calls, listens to the agent and asks by key; the caller sends only a tone. */
async function call(from: string, key: string, to = number): Promise<Phone> {
  const phone = await kept(dial(product.sipAddress(to), tone(CALLERS_HZ, 120_000), { user: from }));
  await product.until('the agent is heard', () => voicedSeconds(phone.heard(), RATE_HZ) > 0.2);
  await phone.press(key);
  return phone;
}

const hearsTone = (phone: Phone, hz: number) =>
  product.until(`${hz} Hz is heard`, () => power(phone.heard().subarray(-RATE_HZ), hz) > HEARD);

async function sessionOf(callerNumber: string): Promise<string> {
  const { sessions } = await product.ask(
    'GET',
    `/v1/agent/sessions?caller_number=${encodeURIComponent(callerNumber)}`,
  );
  return sessions[0].session_id;
}

function results({
  items,
}: {
  readonly items: readonly { readonly type: string; readonly error?: string }[];
}) {
  return items.filter(({ type }) => type === 'tool_result');
}

/** Audio of a recording track. */
async function heardOn(track: { readonly url: string }): Promise<Int16Array> {
  const { samples, rateHz } = parseWav(Buffer.from(await (await fetch(track.url)).arrayBuffer()));
  expect(rateHz).toBe(RATE_HZ);
  return samples;
}
