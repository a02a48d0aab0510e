/**
 * Journey: the worker of many calls is killed, and whatever its callers were doing, each of them has the agent's voice again and is answered by it:
 * in mid-sentence of a call in and of a call out, in hold music, while the person is asked, joined with that person, and talking with a colleague.
 */
import { afterAll, beforeAll, expect } from 'vitest';
import { voicedSeconds } from '#bench/caller/voiced.ts';
import { systemClock } from '#config/clock.ts';
import { answerPhone, dial, type Phone } from '#test/fakes/baresip.ts';
import { type BrowserPeer, Browsers } from '#test/fakes/browser-peer.ts';
import { callTool, type OpenaiServer, say, startOpenaiServer } from '#test/fakes/openai-server.ts';
import { startSippPhone } from '#test/fakes/sipp-phone.ts';
import { power, tone } from '#test/fakes/tone.ts';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import { type Product, startProduct } from './product.ts';
import { settled } from './web-conversation.ts';

const NEEDED = ['baresip', 'sipp'];
const RATE_HZ = 8_000;
const WEB_RATE_HZ = 48_000;
const PATIENCE = { timeout: 60_000 };
const [CALLERS_HZ, PERSONS_HZ] = [440, 1_000];
/** Of a tone of this strength. */
const HEARD = 100_000;
/** What was on its way to a phone when the worker died, samples. */
const LEFT_OVER = 0.4 * RATE_HZ;
/** A tone would be taken for speech where a busy machine judges by levels: nobody talks but where it is measured. */
const SILENCE: Int16Array = new Int16Array(RATE_HZ * 120);
/** Spoken for two minutes: whoever hears it is in the middle of a sentence. */
const LONG_STORY = Array.from({ length: 40 }, () => 'This is a long story about nothing at all.').join(' ');
const ANSWER = 'Seven it is, and I have written it down.';

let product: Product;
let model: OpenaiServer;
let browsers: Browsers;
const phones: Phone[] = [];
let colleague: BrowserPeer;

/** Who answers, and where. */
interface Agent {
  readonly agentId: string;
  readonly number: string;
}

/** Somebody in a call. */
interface Talker {
  readonly phone: Phone;
  readonly sessionId: string;
}

describeNeeds(NEEDED)('every call of a worker that is killed', () => {
  beforeAll(async () => {
    browsers = new Browsers();
    [product, model] = await Promise.all([
      startProduct(),
      startOpenaiServer({ chat: ({ messages }) => answerTo(String(messages.findLast(({ role }) => role === 'user')?.content)) }),
    ]);
  });
  afterAll(async () => {
    colleague?.close();
    await Promise.all(phones.map((phone) => phone.close()));
    await product?.close();
    await Promise.all([model?.close(), browsers?.close()]);
  });

  itNeeds(NEEDED)('has an agent again that is heard, hears and answers', { timeout: 240_000 }, async () => {
    const storyteller = await newAgent('Storyteller', { first_message: LONG_STORY });
    const receptionist = await receptionistOf({ silent: await person(SILENCE), talking: await person(tone(PERSONS_HZ, 120_000)) });
    const talkers = await Promise.all([
      inMidSentence(storyteller),
      calledInMidSentence(storyteller),
      withColleague(storyteller),
      joined(receptionist),
      whileThePersonIsAsked(receptionist),
    ]);
    // Last: nobody is let ring for longer than half a minute.
    talkers.push(await onHold(receptionist));
    expect(product.kill('worker')).toBeGreaterThan(0);
    const killedAt = talkers.map(({ phone }) => phone.heard().length + LEFT_OVER);
    await Promise.all(talkers.map((talker, index) => expectGoneOnWith(talker, killedAt[index] ?? 0)));
    await Promise.all(talkers.map(expectEnded));
  });
});

let nextNumber = 5_001;
let nextCaller = 4_001;
let silentPerson: Phone;
let talkingPerson: Phone;

function answerTo(text: string) {
  const key = /Keypad entry: (\d)/.exec(text)?.[1];
  const destination = { 1: 'Nobody', 2: 'Silent', 3: 'Talking' }[key ?? ''];
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
      conversation: { keypad_input: { enabled: true, inter_digit_timeout_seconds: 1 }, outbound: { amd_enabled: false }, ...conversation },
      llm: { custom: { base_url: model.url, model: 'stand-in', api_key: 'none' } },
    },
  });
  await product.ask('POST', `/v1/agent/agents/${agent_id}/publish`);
  const number = { provider: 'managed', phone_number: `+1555010${nextNumber++}`, agent_id };
  return { agentId: agent_id, number: (await product.ask('POST', '/v1/agent/phone-numbers', number)).phone_number };
}

/** An agent that connects its callers: with nobody who answers, with somebody who says nothing, with somebody who talks. */
async function receptionistOf(people: { readonly silent: Phone; readonly talking: Phone }): Promise<Agent> {
  [silentPerson, talkingPerson] = [people.silent, people.talking];
  const ringing = await startSippPhone({ does: 'ring' });
  const to = (label: string, uri: string, warm_connect: string) => ({ label, type: 'sip', sip_uri: uri, mode: 'warm', warm_connect });
  return newAgent('Receptionist', {
    first_message: 'Hello.',
    transfer_destinations: [
      to('Nobody', `sip:nobody@${ringing.address}`, 'direct'),
      to('Silent', people.silent.uri, 'confirm'),
      to('Talking', people.talking.uri, 'direct'),
    ],
  });
}

/** Somebody who has called. */
async function caller({ number }: Agent, microphone = SILENCE): Promise<Talker> {
  const user = `+1555765${nextCaller++}`;
  const phone = await dial(product.sipAddress(number), microphone, { user });
  phones.push(phone);
  return { phone, sessionId: await activeSession(user) };
}

async function activeSession(callerNumber: string): Promise<string> {
  const found = async () => (await product.ask('GET', `/v1/agent/sessions?status=active&caller_number=${encodeURIComponent(callerNumber)}`)).sessions;
  await expect.poll(async () => (await found()).length, PATIENCE).toBe(1);
  return (await found())[0].session_id;
}

const hears = (phone: Phone, seconds: number, since = 0) =>
  expect.poll(() => voicedSeconds(phone.heard().subarray(since), RATE_HZ), PATIENCE).toBeGreaterThan(seconds);
const hearsTone = (phone: Phone, hz: number) => expect.poll(() => power(phone.heard().subarray(-RATE_HZ), hz), PATIENCE).toBeGreaterThan(HEARD);

/** Presses a key until something follows from it: again, as people do, where a busy machine has not noticed. */
async function pressUntil({ phone, sessionId }: Talker, key: string, follows: (item: { type?: string; content?: string }) => boolean): Promise<void> {
  const hasFollowed = async () => (await product.ask('GET', `/v1/agent/sessions/${sessionId}`)).items.some(follows);
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
  const trunk = { provider: 'sip', phone_number: '+4930999002', inbound_allowed_addresses: ['127.0.0.1'], termination_uri: phone.address };
  const { phone_number_id } = await product.ask('POST', '/v1/agent/phone-numbers', trunk);
  const { session_id: sessionId } = await product.ask('POST', '/v1/agent/phone-calls', { agent_id: agentId, phone_number_id, to_number: user });
  await hears(phone, 2);
  return { phone, sessionId };
}

/** Asks for a person by a key, once the greeting is over. */
async function asks(agent: Agent, key: string, microphone = SILENCE): Promise<Talker & { readonly before: number }> {
  const talker = await caller(agent, microphone);
  await hears(talker.phone, 0.2);
  const before = talker.phone.heard().length;
  await pressUntil(talker, key, ({ type }) => type === 'tool_call');
  return { ...talker, before };
}

async function onHold(agent: Agent): Promise<Talker> {
  const talker = await asks(agent, '1');
  // The announcement is short; what goes on after it is music.
  await hears(talker.phone, 4, talker.before);
  return talker;
}

async function whileThePersonIsAsked(agent: Agent): Promise<Talker> {
  const talker = await asks(agent, '2');
  await hears(silentPerson, 1);
  return talker;
}

async function joined(agent: Agent): Promise<Talker> {
  const talker = await asks(agent, '3', tone(CALLERS_HZ, 120_000));
  await hearsTone(talker.phone, PERSONS_HZ);
  await hearsTone(talkingPerson, CALLERS_HZ);
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
  await expect.poll(async () => (await product.api('PATCH', `${path}/${participant_id}`, { mode: 'take_over' })).status, PATIENCE).toBe(200);
  const said = Int16Array.from({ length: 60 * WEB_RATE_HZ }, (_, n) => 8_000 * Math.sin((2 * Math.PI * PERSONS_HZ * n) / WEB_RATE_HZ));
  await colleague.speak(said);
  await hearsTone(talker.phone, PERSONS_HZ);
  return talker;
}

/** They hear the agent, who is nobody they heard before, and what they key in is answered. */
async function expectGoneOnWith({ phone, sessionId }: Talker, killedAt: number): Promise<void> {
  await hears(phone, 0.8, killedAt);
  const detail = () => product.ask('GET', `/v1/agent/sessions/${sessionId}`);
  await expect.poll(async () => (await detail()).takeovers.length, PATIENCE).toBe(1);
  const beforeAnswer = phone.heard().length;
  await pressUntil({ phone, sessionId }, '7', ({ content }) => content === ANSWER);
  const said = async (): Promise<string[]> =>
    (await detail()).items.map(({ role, content }: { role?: string; content?: string }) => `${role}: ${content}`);
  await hears(phone, 1.5, beforeAnswer);
  expect((await said()).some((line) => line.startsWith('assistant: Sorry, I lost'))).toBe(true);
  const since = phone.heard().subarray(killedAt);
  expect(power(since, PERSONS_HZ)).toBeLessThan(HEARD / 50);
}

async function expectEnded({ phone, sessionId }: Talker): Promise<void> {
  await phone.hangUp();
  expect(await settled(product, sessionId)).toMatchObject({ status: 'completed', end_reason: 'user_hangup' });
}
