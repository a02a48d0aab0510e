/**
 * Journey: the worker of many calls is killed, and every caller is talking again afterwards. A caller joined
 * with a person stays joined with that person. All others get the agent, which speaks and answers: in
 * mid-sentence of an inbound and an outbound call, in hold music, while the person is asked, joined with a
 * person who is also gone, and talking with a colleague.
 */
import { afterAll, beforeAll, expect } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { voicedSeconds } from '#caller/voiced.ts';
import { parseWav } from '#caller/wav.ts';
import { answerPhone, dial, type Phone } from '#test/fakes/baresip.ts';
import { type BrowserPeer, Browsers } from '#test/fakes/browser-peer.ts';
import { callTool, type OpenaiServer, say, startOpenaiServer } from '#test/fakes/openai-server.ts';
import { startSippPhone } from '#test/fakes/sipp-phone.ts';
import { power, tone } from '#test/fakes/tone.ts';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import type { Product } from './product.ts';
import { settled } from './web-conversation.ts';

const NEEDED = ['baresip', 'sipp'];
const RATE_HZ = 8_000;
const WEB_RATE_HZ = 48_000;
const PATIENCE = { timeout: 60_000, interval: 200 };
const [CALLERS_HZ, PERSONS_HZ] = [440, 1_000];
/** Tone power above which the tone counts as heard. */
const HEARD = 100_000;
/** Audio still on its way to a phone when the worker died, samples. */
const LEFT_OVER = 0.4 * RATE_HZ;
/**
 * On a busy machine that detects speech by level, a tone would count as speech, so tones are only played
 * where they are measured.
 */
const SILENCE: Int16Array = new Int16Array(RATE_HZ * 120);
const PERSONS_TONE = tone(PERSONS_HZ, 180_000);
/** Two minutes of speech, so that listeners are in mid-sentence. */
const LONG_STORY = Array.from({ length: 40 }, () => 'This is a long story about nothing at all.').join(' ');
const ANSWER = 'Seven it is, and I have written it down.';

let product: Product;
let model: OpenaiServer;
let browsers: Browsers;
const phones: Phone[] = [];
let colleague: BrowserPeer;

/** An agent and its number. */
interface Agent {
  readonly agentId: string;
  readonly number: string;
}

/** A participant of a call. */
interface Talker {
  readonly phone: Phone;
  readonly sessionId: string;
}

/** Describes them on a shared product. */
export function describeFailoverOfAll(stage: { readonly product: Product }): void {
  describeNeeds(NEEDED)('every call of a worker that is killed', () => {
    beforeAll(async () => {
      product = stage.product;
      browsers = new Browsers();
      model = await startOpenaiServer({
        chat: ({ messages }) => answerTo(String(messages.findLast(({ role }) => role === 'user')?.content)),
      });
    });
    afterAll(async () => {
      colleague?.close();
      await Promise.all(phones.map((phone) => phone.close()));
      await Promise.all([model?.close(), browsers?.close()]);
    });

    itNeeds(NEEDED)(
      'continues with an agent or person who hears the caller and answers',
      { timeout: 240_000 },
      async () => {
        const storyteller = await newAgent('Storyteller', { first_message: LONG_STORY });
        const [silent, talking, vanishing] = await Promise.all([
          person(SILENCE),
          person(PERSONS_TONE),
          person(PERSONS_TONE),
        ]);
        const receptionist = await receptionistOf({ silent, talking, vanishing });
        const [pair, ...talkers] = await Promise.all([
          joined(receptionist, '3', talking),
          inMidSentence(storyteller),
          calledInMidSentence(storyteller),
          withColleague(storyteller),
          joined(receptionist, '4', vanishing),
          whileThePersonIsAsked(receptionist, silent),
        ]);
        // Last, because a phone may ring for at most half a minute.
        talkers.push(await onHold(receptionist));
        await vanishing.close();
        expect(product.kill('worker')).toBeGreaterThan(0);
        const since = (phone: Phone): Since => ({ phone, from: phone.heard().length + LEFT_OVER });
        const both = { caller: since(pair.phone), person: since(talking) };
        const alone = talkers.map(({ phone }) => since(phone));
        await Promise.all([
          ...talkers.map((talker, index) => expectContinuedWith(talker, alone[index]?.from ?? 0)),
          expectStillJoined(pair.sessionId, both),
        ]);
        await Promise.all([...talkers.map(expectEnded), expectHandedOver(pair.sessionId, talking)]);
      },
    );
  });
}

let nextNumber = 5_001;
let nextCaller = 4_001;

function answerTo(text: string) {
  const key = /Keypad entry: (\d)/.exec(text)?.[1];
  const destination = { 1: 'Nobody', 2: 'Silent', 3: 'Talking', 4: 'Vanishing' }[key ?? ''];
  if (destination) return callTool('_transfer_call', { destination, notes: 'They want to talk.' });
  return say(key === '7' ? ANSWER : 'I am here.');
}

async function person(microphone: Int16Array): Promise<Phone> {
  const phone = await answerPhone(microphone);
  phones.push(phone);
  return phone;
}

async function newAgent(
  name: string,
  { first_message, ...conversation }: { readonly first_message: string } & Record<string, unknown>,
): Promise<Agent> {
  const { agent_id } = await product.ask('POST', '/v1/agent/agents', {
    name,
    config: {
      prompt: { system_prompt: 'You answer the phone.', first_message_mode: 'fixed', first_message },
      conversation: {
        keypad_input: { enabled: true, inter_digit_timeout_seconds: 1 },
        outbound: { amd_enabled: false },
        ...conversation,
      },
      llm: { custom: { base_url: model.url, model: 'stand-in', api_key: 'none' } },
    },
  });
  await product.ask('POST', `/v1/agent/agents/${agent_id}/publish`);
  const number = { provider: 'managed', phone_number: `+1555010${nextNumber++}`, agent_id };
  return {
    agentId: agent_id,
    number: (await product.ask('POST', '/v1/agent/phone-numbers', number)).phone_number,
  };
}

/**
 * An agent that transfers callers: to a phone that is not answered, to a silent person, and to two people who
 * talk.
 */
async function receptionistOf(people: {
  readonly silent: Phone;
  readonly talking: Phone;
  readonly vanishing: Phone;
}): Promise<Agent> {
  const ringing = await startSippPhone({ does: 'ring' });
  const to = (label: string, uri: string, warm_connect: string) => ({
    label,
    type: 'sip',
    sip_uri: uri,
    mode: 'warm',
    warm_connect,
  });
  return newAgent('Receptionist', {
    first_message: 'Hello.',
    transfer_destinations: [
      to('Nobody', `sip:nobody@${ringing.address}`, 'direct'),
      to('Silent', people.silent.uri, 'confirm'),
      to('Talking', people.talking.uri, 'direct'),
      to('Vanishing', people.vanishing.uri, 'direct'),
    ],
  });
}

/** A caller in a call. */
async function caller({ number }: Agent, microphone = SILENCE): Promise<Talker> {
  const user = `+1555765${nextCaller++}`;
  const phone = await dial(product.sipAddress(number), microphone, { user });
  phones.push(phone);
  return { phone, sessionId: await activeSession(user) };
}

async function activeSession(callerNumber: string): Promise<string> {
  const found = async () =>
    (await product.ask('GET', `/v1/agent/sessions?caller_number=${encodeURIComponent(callerNumber)}`))
      .sessions;
  // If the call has ended instead, shows its end reason.
  await expect
    .poll(async () => (await found()).map(({ status, end_reason }: Ended) => end_reason ?? status), PATIENCE)
    .toEqual(['active']);
  return (await found())[0].session_id;
}

interface Ended {
  readonly status: string;
  readonly end_reason: string | null;
}

const hears = (phone: Phone, seconds: number, since = 0) =>
  expect.poll(() => voicedSeconds(phone.heard().subarray(since), RATE_HZ), PATIENCE).toBeGreaterThan(seconds);
const hearsTone = (phone: Phone, hz: number) =>
  expect.poll(() => power(phone.heard().subarray(-RATE_HZ), hz), PATIENCE).toBeGreaterThan(HEARD);

/** Presses a key repeatedly until it takes effect, as people do; a busy machine may miss one. */
async function pressUntil(
  { phone, sessionId }: Talker,
  key: string,
  follows: (item: { type?: string; content?: string }) => boolean,
): Promise<void> {
  const hasFollowed = async () =>
    (await product.ask('GET', `/v1/agent/sessions/${sessionId}`)).items.some(follows);
  for (let times = 0; times < 5; times++) {
    await phone.press(key);
    for (let polls = 0; polls < 40; polls++) {
      if (await hasFollowed()) return;
      await systemClock.sleep(250);
    }
  }
  throw new Error(`nothing followed from the key ${key}`);
}

async function inMidSentence(agent: Agent): Promise<Talker> {
  const talker = await caller(agent);
  await hears(talker.phone, 2);
  return talker;
}

async function calledInMidSentence({ agentId }: Agent): Promise<Talker> {
  const user = '+4930123480';
  const phone = await answerPhone(SILENCE, { user });
  phones.push(phone);
  const trunk = {
    provider: 'sip',
    phone_number: '+4930999002',
    inbound_allowed_addresses: ['127.0.0.1'],
    termination_uri: phone.address,
  };
  const { phone_number_id } = await product.ask('POST', '/v1/agent/phone-numbers', trunk);
  const { session_id: sessionId } = await product.ask('POST', '/v1/agent/phone-calls', {
    agent_id: agentId,
    phone_number_id,
    to_number: user,
  });
  await hears(phone, 2);
  return { phone, sessionId };
}

/** Asks for a person by key after the greeting. */
async function asks(
  agent: Agent,
  key: string,
  microphone = SILENCE,
): Promise<Talker & { readonly before: number }> {
  const talker = await caller(agent, microphone);
  await hears(talker.phone, 0.2);
  const before = talker.phone.heard().length;
  await pressUntil(talker, key, ({ type }) => type === 'tool_call');
  return { ...talker, before };
}

async function onHold(agent: Agent): Promise<Talker> {
  const talker = await asks(agent, '1');
  // The announcement is short; longer audio is music.
  await hears(talker.phone, 4, talker.before);
  return talker;
}

async function whileThePersonIsAsked(agent: Agent, person: Phone): Promise<Talker> {
  const talker = await asks(agent, '2');
  await hears(person, 1);
  return talker;
}

async function joined(agent: Agent, key: string, person: Phone): Promise<Talker> {
  const talker = await asks(agent, key, tone(CALLERS_HZ, 120_000));
  await hearsTone(talker.phone, PERSONS_HZ);
  await hearsTone(person, CALLERS_HZ);
  return talker;
}

async function withColleague(agent: Agent): Promise<Talker> {
  const talker = await inMidSentence(agent);
  const path = `/v1/agent/sessions/${talker.sessionId}/participants`;
  const { participant_id, webrtc_url, token } = await product.ask('POST', path, { name: 'Ann' });
  colleague = browsers.open();
  const response = await fetch(webrtc_url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'offer', sdp: await colleague.offer() }),
  });
  await colleague.connect(((await response.json()) as { sdp: string }).sdp);
  await expect
    .poll(
      async () => (await product.api('PATCH', `${path}/${participant_id}`, { mode: 'take_over' })).status,
      PATIENCE,
    )
    .toBe(200);
  const said = Int16Array.from(
    { length: 60 * WEB_RATE_HZ },
    (_, n) => 8_000 * Math.sin((2 * Math.PI * PERSONS_HZ * n) / WEB_RATE_HZ),
  );
  await colleague.speak(said);
  await hearsTone(talker.phone, PERSONS_HZ);
  return talker;
}

/** They hear the agent instead of their former partner, and the agent answers their key. */
async function expectContinuedWith({ phone, sessionId }: Talker, killedAt: number): Promise<void> {
  await hears(phone, 0.8, killedAt);
  const detail = () => product.ask('GET', `/v1/agent/sessions/${sessionId}`);
  await expect.poll(async () => (await detail()).takeovers.length, PATIENCE).toBe(1);
  const beforeAnswer = phone.heard().length;
  await pressUntil({ phone, sessionId }, '7', ({ content }) => content === ANSWER);
  const said = async (): Promise<string[]> =>
    (await detail()).items.map(
      ({ role, content }: { role?: string; content?: string }) => `${role}: ${content}`,
    );
  await hears(phone, 1.5, beforeAnswer);
  expect((await said()).some((line) => line.startsWith('assistant: Sorry, I lost'))).toBe(true);
  const since = phone.heard().subarray(killedAt);
  expect(power(since, PERSONS_HZ)).toBeLessThan(HEARD / 50);
}

/** A phone, and the offset in its received audio where the time after its worker begins. */
interface Since {
  readonly phone: Phone;
  readonly from: number;
}

/** The two hear each other for a second without a break, and the agent is silent. */
async function expectStillJoined(
  sessionId: string,
  { caller, person }: { readonly caller: Since; readonly person: Since },
): Promise<void> {
  const hearsSince = ({ phone, from }: Since, hz: number) =>
    expect
      .poll(() => {
        const last = phone.heard().subarray(from).subarray(-RATE_HZ);
        return last.length < RATE_HZ ? 0 : power(last, hz);
      }, PATIENCE)
      .toBeGreaterThan(HEARD);
  await Promise.all([hearsSince(caller, PERSONS_HZ), hearsSince(person, CALLERS_HZ)]);
  const { items, takeovers } = await product.ask('GET', `/v1/agent/sessions/${sessionId}`);
  expect(takeovers).toHaveLength(1);
  expect(items.at(-1)).toMatchObject({ type: 'tool_result', status: 'completed' });
}

/** The call ends when the person hangs up, and their speech is recorded to the end. */
async function expectHandedOver(sessionId: string, person: Phone): Promise<void> {
  await person.hangUp();
  expect(await settled(product, sessionId)).toMatchObject({ status: 'completed', end_reason: 'escalated' });
  const path = `/v1/agent/sessions/${sessionId}/recording`;
  await product.until(
    'the recording is complete',
    async () => (await product.ask('GET', path)).status === 'complete',
  );
  const { tracks } = await product.ask('GET', path);
  const human = tracks.find(({ role }: { role: string }) => role === 'human');
  const { samples } = parseWav(Buffer.from(await (await fetch(human.url)).arrayBuffer()));
  expect(power(samples.subarray(-RATE_HZ), PERSONS_HZ)).toBeGreaterThan(HEARD);
}

async function expectEnded({ phone, sessionId }: Talker): Promise<void> {
  await phone.hangUp();
  expect(await settled(product, sessionId)).toMatchObject({ status: 'completed', end_reason: 'user_hangup' });
}
