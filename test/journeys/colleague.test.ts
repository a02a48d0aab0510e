/**
 * Journey: a human takeover of a phone call. The colleague hears the agent and the caller, takes the call
 * over while the agent is silent, is heard, and hands it back; over a direct connection, and in a room of a
 * real LiveKit server.
 */
import { afterAll, beforeAll, expect } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { openRooms } from '#control-plane/platform/rooms.ts';
import { Browsers } from '#test/fakes/browser-peer.ts';
import { LivekitCaller } from '#test/fakes/livekit-caller.ts';
import { type LivekitServer, startLivekitServer } from '#test/fakes/livekit-server.ts';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import { callLive, type HeardBlock, type LivePhone } from './live-phone.ts';
import { QUESTION, record } from './microphone.ts';
import { type Product, startProduct } from './product.ts';
import { settled } from './web-conversation.ts';

const PATIENCE = { timeout: 60_000 };
const ASKED_TIMES = 5;
const ANSWER_MS = 15_000;
const PHONE_RATE_HZ = 8_000;
const WEB_RATE_HZ = 48_000;
const CALLERS_HZ = 440;
const COLLEAGUES_HZ = 1_000;
/** Level above which a block counts as someone speaking. */
const LOUD = 500;

/** A colleague in a call, with a browser or LiveKit's own client. */
interface Colleague {
  heard(): readonly HeardBlock[];
  /** Plays 48 kHz audio. */
  speak(samples: Int16Array): Promise<unknown>;
  /** The mode last reported to the colleague. */
  mode(): unknown;
  leave(): Promise<void>;
}

const tone = (rateHz: number, hz: number, ms: number) =>
  Int16Array.from(
    { length: (rateHz * ms) / 1_000 },
    (_, n) => 8_000 * Math.sin((2 * Math.PI * hz * n) / rateHz),
  );

/** Share of a block's energy at one frequency; 1 for a pure tone. */
function share({ samples }: HeardBlock, hz: number, rateHz: number): number {
  let [cosine, sine, energy] = [0, 0, 0];
  for (const [n, sample] of samples.entries()) {
    cosine += sample * Math.cos((2 * Math.PI * hz * n) / rateHz);
    sine += sample * Math.sin((2 * Math.PI * hz * n) / rateHz);
    energy += sample * sample;
  }
  return energy === 0 ? 0 : (2 * (cosine ** 2 + sine ** 2)) / (samples.length * energy);
}

const isLoud = ({ samples }: HeardBlock) => samples.some((sample) => Math.abs(sample) > LOUD);
const isTone = (hz: number, rateHz: number) => (block: HeardBlock) =>
  isLoud(block) && share(block, hz, rateHz) > 0.7;
const since = (heard: readonly HeardBlock[], ms: number) => heard.filter(({ atMs }) => atMs >= ms);

let product: Product;
let phone: LivePhone;
let sessionId: string;

/** Calls the demo agent by phone and waits for its session. */
async function call(): Promise<void> {
  const from = '+15557650009';
  phone = await callLive(product.sipAddress(), from);
  await expect.poll(() => phone.heard().filter(isLoud).length, PATIENCE).toBeGreaterThan(20);
  const running = async () =>
    (await product.ask('GET', `/v1/agent/sessions?status=active&caller_number=${encodeURIComponent(from)}`))
      .sessions;
  await expect.poll(async () => (await running()).length, PATIENCE).toBe(1);
  sessionId = (await running())[0].session_id;
}

const items = async () => (await product.ask('GET', `/v1/agent/sessions/${sessionId}`)).items;
/** The transcript, as `role: words`. */
const said = async (): Promise<string[]> =>
  (await items()).flatMap(({ role, content }: { role?: string; content?: string }) =>
    role === undefined ? [] : [`${role}: ${content}`],
  );
const change = (id: string, mode: string) =>
  product.api('PATCH', `/v1/agent/sessions/${sessionId}/participants/${id}`, { mode });

/** Abilities every colleague has, on any transport. */
async function expectTakenOver(join: (grant: Record<string, string>) => Promise<Colleague>): Promise<void> {
  await call();
  const grant = await product.ask('POST', `/v1/agent/sessions/${sessionId}/participants`, { name: 'Ann' });
  const colleague = await join(grant);
  await expect.poll(() => colleague.mode(), PATIENCE).toBe('listen');
  const taken = await change(grant['participant_id'] as string, 'take_over');
  expect([taken.status, taken.body.mode]).toEqual([200, 'take_over']);
  await expect.poll(() => colleague.mode(), PATIENCE).toBe('take_over');
  await quiet(phone);
  const takenMs = systemClock.now();
  const byPhone = () => since(phone.heard(), takenMs).filter(isTone(COLLEAGUES_HZ, PHONE_RATE_HZ)).length;
  const byColleague = () => since(colleague.heard(), takenMs).filter(isTone(CALLERS_HZ, WEB_RATE_HZ)).length;
  // Both speak at once and each hears the other. A busy machine breaks tones, so they are repeated until
  // enough blocks are intact.
  const areHeard = async () => byPhone() > 25 && byColleague() > 50;
  for (let times = 0; times < ASKED_TIMES && !(await within(areHeard, 1_000)); times++)
    await Promise.all([
      phone.speak(tone(PHONE_RATE_HZ, CALLERS_HZ, 1_500)),
      colleague.speak(tone(WEB_RATE_HZ, COLLEAGUES_HZ, 1_500)),
    ]);
  await expect.poll(byPhone, PATIENCE).toBeGreaterThan(25);
  await expect.poll(byColleague, PATIENCE).toBeGreaterThan(50);
  // Neither side hears itself.
  expect(since(phone.heard(), takenMs).some(isTone(CALLERS_HZ, PHONE_RATE_HZ))).toBe(false);
  expect(since(colleague.heard(), takenMs).some(isTone(COLLEAGUES_HZ, WEB_RATE_HZ))).toBe(false);
  await quiet(phone);
  const silentMs = systemClock.now();
  // The caller's question is recorded but not answered.
  const before = (await said()).length;
  await ask(
    () => phone.speak(record([QUESTION, 1.5], PHONE_RATE_HZ)),
    async () => (await said()).slice(before),
    /^user: .*opening hours/,
  );
  // An agent answer lasts seconds; a late tone from the colleague on a busy machine is much shorter.
  const spoken = since(phone.heard(), silentMs).filter(
    (block) => isLoud(block) && share(block, COLLEAGUES_HZ, PHONE_RATE_HZ) < 0.3,
  );
  expect(spoken.length).toBeLessThan(25);
  const saidSince = (await items()).slice(
    (await items()).findIndex(({ event }: { event?: string }) => event === 'took_over'),
  );
  expect(saidSince.filter(({ role }: { role?: string }) => role === 'assistant')).toEqual([]);
  await quiet(phone);
  const backMs = systemClock.now();
  expect((await change(grant['participant_id'] as string, 'listen')).status).toBe(200);
  // The agent speaks again, and the colleague listens.
  await expect.poll(() => since(phone.heard(), backMs).filter(isLoud).length, PATIENCE).toBeGreaterThan(20);
  await expect
    .poll(() => since(colleague.heard(), backMs).filter(isLoud).length, PATIENCE)
    .toBeGreaterThan(20);
  await colleague.leave();
  await expect
    .poll(async () => (await items()).flatMap((item: { event?: string }) => item.event ?? []), PATIENCE)
    .toEqual(['joined', 'took_over', 'handed_back', 'left']);
  await phone.hangUp();
  const session = await settled(product, sessionId);
  expect(session).toMatchObject({ status: 'completed', end_reason: 'user_hangup' });
  const recording = () => product.ask('GET', `/v1/agent/sessions/${sessionId}/recording`);
  await expect
    .poll(async () => (await recording()).tracks.map(({ role }: { role: string }) => role).sort(), PATIENCE)
    .toEqual(['agent', 'human', 'user']);
}

/**
 * Repeats an utterance until it is in the transcript, as people do; the recogniser of a busy machine may not
 * understand it at once.
 */
async function ask(
  speak: () => Promise<unknown>,
  transcript: () => Promise<string[]>,
  expected: RegExp,
): Promise<void> {
  await speak();
  const isThere = async () => (await transcript()).some((line) => expected.test(line));
  for (let times = 1; times < ASKED_TIMES && !(await within(isThere, ANSWER_MS)); times++) await speak();
  await expect.poll(transcript, PATIENCE).toContainEqual(expect.stringMatching(expected));
}

async function within(condition: () => Promise<boolean>, ms: number): Promise<boolean> {
  for (const untilMs = systemClock.now() + ms; systemClock.now() < untilMs; await systemClock.sleep(200))
    if (await condition()) return true;
  return false;
}

/** Waits for silence. */
async function quiet({ heard }: LivePhone): Promise<void> {
  await expect.poll(() => heard().slice(-25).some(isLoud), PATIENCE).toBe(false);
}

const NEEDS = ['pocketsphinx_continuous'];

describeNeeds(NEEDS)('a colleague on a direct connection', () => {
  let browsers: Browsers;

  beforeAll(async () => {
    browsers = new Browsers();
    product = await startProduct();
  });
  afterAll(async () => {
    await product?.close();
    await browsers?.close();
  });

  itNeeds(NEEDS)('hears a phone call, takes it over and hands it back', { timeout: 180_000 }, () =>
    expectTakenOver(async ({ webrtc_url: url = '', token }) => {
      const peer = browsers.open();
      const response = await fetch(url, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ type: 'offer', sdp: await peer.offer() }),
      });
      await peer.connect(((await response.json()) as { sdp: string }).sdp);
      return {
        heard: () => peer.heard,
        speak: (samples) => peer.speak(samples),
        mode: () =>
          peer.messages.map((text) => JSON.parse(text)).findLast(({ type }) => type === 'participant.mode')
            ?.mode,
        leave: async () => peer.close(),
      };
    }),
  );
});

const ROOM_NEEDS = [...NEEDS, 'livekit-server'];

describeNeeds(ROOM_NEEDS)('a colleague in a room', () => {
  let server: LivekitServer;

  beforeAll(async () => {
    server = await startLivekitServer();
    product = await startProduct({ environment: server.environment });
  });
  afterAll(async () => {
    await product?.close();
    await server?.close();
  });

  itNeeds(ROOM_NEEDS)(
    'hears a phone call, takes it over and hands it back; the room is created on joining and then removed',
    { timeout: 180_000 },
    async () => {
      const rooms = openRooms(
        readSettings(server.environment),
        createLogger({ level: 'silent', name: 'test' }),
      );
      await expectTakenOver(async ({ livekit_url: url = '', token = '' }) => {
        expect((await rooms?.list())?.filter((room) => room.startsWith(sessionId))).toHaveLength(1);
        const caller = await LivekitCaller.join(url, token, { keepsAudio: true });
        return {
          heard: () => caller.heard,
          speak: (samples) => caller.speak(samples),
          mode: () => caller.events.findLast(({ type }) => type === 'participant.mode')?.mode,
          leave: () => caller.leave(),
        };
      });
      await expect
        .poll(async () => (await rooms?.list())?.filter((room) => room.startsWith(sessionId)), PATIENCE)
        .toEqual([]);
    },
  );
});
