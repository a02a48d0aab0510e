/**
 * Journey: a human takeover of a phone call. The colleague hears the agent and the caller, takes the call
 * over while the agent is silent, is heard, and hands it back; over a direct connection, and in a room of a
 * real LiveKit server.
 */
import { expect, onTestFinished, vi } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { Browsers } from '#test/fakes/browser-peer.ts';
import { LivekitCaller } from '#test/fakes/livekit-caller.ts';
import { itNeeds } from '#test/needs.ts';
import { callLive, type HeardBlock, type LivePhone } from './live-phone.ts';
import { QUESTION, record } from './microphone.ts';
import type { Product } from './product.ts';
import { settled } from './web-conversation.ts';

const PATIENCE = { timeout: 60_000, interval: 200 };
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

/** Shares of the blocks that were looked at before: every poll looks at all of them. */
const knownShares = new WeakMap<HeardBlock, Map<number, number>>();

/** Share of a block's energy at one frequency; 1 for a pure tone. */
function share(block: HeardBlock, hz: number, rateHz: number): number {
  const known = knownShares.get(block) ?? new Map<number, number>();
  knownShares.set(block, known);
  const found = known.get(hz) ?? measureShare(block, hz, rateHz);
  known.set(hz, found);
  return found;
}

function measureShare({ samples }: HeardBlock, hz: number, rateHz: number): number {
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

/** A phone call with the demo agent. */
class PhoneCall {
  readonly sessionId: string;
  readonly phone: LivePhone;
  readonly #product: Product;

  private constructor(product: Product, phone: LivePhone, sessionId: string) {
    this.#product = product;
    this.phone = phone;
    this.sessionId = sessionId;
  }

  /** Resolves once the agent speaks and the session is active. */
  static async place(product: Product): Promise<PhoneCall> {
    const from = '+15557650009';
    const phone = await callLive(product.sipAddress(), from);
    try {
      return new PhoneCall(product, phone, await PhoneCall.#sessionOf(product, phone, from));
    } catch (error) {
      await phone.hangUp();
      throw error;
    }
  }

  static async #sessionOf(product: Product, phone: LivePhone, from: string): Promise<string> {
    const find = `/v1/agent/sessions?status=active&caller_number=${encodeURIComponent(from)}`;
    const running = async () => (await product.ask('GET', find)).sessions;
    await product.until('the agent speaks', () => phone.heard().filter(isLoud).length > 20);
    await product.until('the session is active', async () => (await running()).length === 1);
    return (await running())[0].session_id;
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look at what the API answers
  async items(): Promise<any[]> {
    return (await this.#product.ask('GET', `/v1/agent/sessions/${this.sessionId}`)).items;
  }

  /** The transcript, as `role: words`. */
  async said(): Promise<string[]> {
    return (await this.items()).flatMap(({ role, content }) =>
      role === undefined ? [] : [`${role}: ${content}`],
    );
  }

  change(participant: string, mode: string) {
    const path = `/v1/agent/sessions/${this.sessionId}/participants/${participant}`;
    return this.#product.api('PATCH', path, { mode });
  }
}

/** Calls, joins a colleague, and ends both whatever happens, also when the test's time is over. */
async function expectTakenOver(
  product: Product,
  join: (grant: Record<string, string>, call: PhoneCall) => Promise<Colleague>,
): Promise<PhoneCall> {
  const call = await PhoneCall.place(product);
  onTestFinished(() => call.phone.hangUp());
  const path = `/v1/agent/sessions/${call.sessionId}/participants`;
  const grant = await product.ask('POST', path, { name: 'Ann' });
  const joined = await join(grant, call);
  let left: Promise<void> | null = null;
  const leave = () => (left ??= joined.leave());
  onTestFinished(leave);
  await expectAbilities(product, call, { ...joined, leave, id: grant.participant_id });
  return call;
}

/** Abilities every colleague has, on any transport. */
async function expectAbilities(
  product: Product,
  call: PhoneCall,
  colleague: Colleague & { readonly id: string },
): Promise<void> {
  const { phone, sessionId } = call;
  await vi.waitFor(() => expect(colleague.mode()).toBe('listen'), PATIENCE);
  const taken = await call.change(colleague.id, 'take_over');
  expect([taken.status, taken.body.mode]).toEqual([200, 'take_over']);
  await vi.waitFor(() => expect(colleague.mode()).toBe('take_over'), PATIENCE);
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
  await vi.waitFor(() => expect(byPhone()).toBeGreaterThan(25), PATIENCE);
  await vi.waitFor(() => expect(byColleague()).toBeGreaterThan(50), PATIENCE);
  // Neither side hears itself.
  expect(since(phone.heard(), takenMs).some(isTone(CALLERS_HZ, PHONE_RATE_HZ))).toBe(false);
  expect(since(colleague.heard(), takenMs).some(isTone(COLLEAGUES_HZ, WEB_RATE_HZ))).toBe(false);
  await quiet(phone);
  const silentMs = systemClock.now();
  // The caller's question is recorded but not answered.
  const before = (await call.said()).length;
  await ask(
    () => phone.speak(record([QUESTION, 1.5], PHONE_RATE_HZ)),
    async () => (await call.said()).slice(before),
    /^user: .*opening hours/,
  );
  // An agent answer lasts seconds; a late tone from the colleague on a busy machine is much shorter.
  const spoken = since(phone.heard(), silentMs).filter(
    (block) => isLoud(block) && share(block, COLLEAGUES_HZ, PHONE_RATE_HZ) < 0.3,
  );
  expect(spoken.length).toBeLessThan(25);
  const saidSince = (await call.items()).slice(
    (await call.items()).findIndex(({ event }: { event?: string }) => event === 'took_over'),
  );
  expect(saidSince.filter(({ role }: { role?: string }) => role === 'assistant')).toEqual([]);
  await quiet(phone);
  const backMs = systemClock.now();
  expect((await call.change(colleague.id, 'listen')).status).toBe(200);
  // The agent speaks again, and the colleague listens.
  await vi.waitFor(
    () => expect(since(phone.heard(), backMs).filter(isLoud).length).toBeGreaterThan(20),
    PATIENCE,
  );
  await vi.waitFor(
    () => expect(since(colleague.heard(), backMs).filter(isLoud).length).toBeGreaterThan(20),
    PATIENCE,
  );
  await colleague.leave();
  await vi.waitFor(
    async () =>
      expect((await call.items()).flatMap((item: { event?: string }) => item.event ?? [])).toEqual([
        'joined',
        'took_over',
        'handed_back',
        'left',
      ]),
    PATIENCE,
  );
  await phone.hangUp();
  const session = await settled(product, sessionId);
  expect(session).toMatchObject({ status: 'completed', end_reason: 'user_hangup' });
  const recording = () => product.ask('GET', `/v1/agent/sessions/${sessionId}/recording`);
  await vi.waitFor(
    async () =>
      expect((await recording()).tracks.map(({ role }: { role: string }) => role).sort()).toEqual([
        'agent',
        'human',
        'user',
      ]),
    PATIENCE,
  );
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
  await vi.waitFor(
    async () => expect(await transcript()).toContainEqual(expect.stringMatching(expected)),
    PATIENCE,
  );
}

async function within(condition: () => Promise<boolean>, ms: number): Promise<boolean> {
  for (const untilMs = systemClock.now() + ms; systemClock.now() < untilMs; await systemClock.sleep(200))
    if (await condition()) return true;
  return false;
}

/** Waits for silence. */
async function quiet({ heard }: LivePhone): Promise<void> {
  await vi.waitFor(() => expect(heard().slice(-25).some(isLoud)).toBe(false), PATIENCE);
}

const LIMIT = { timeout: 180_000 };

/** Describes a colleague with a browser, on a shared product. */
export function describeColleague(stage: { readonly product: Product }): void {
  itNeeds(['pocketsphinx_continuous'])(
    'hears a phone call, takes it over and hands it back',
    LIMIT,
    async () => {
      const browsers = new Browsers();
      onTestFinished(() => browsers.close());
      await expectTakenOver(stage.product, async ({ webrtc_url: url = '', token }) => {
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
      });
    },
  );
}

/** Describes a colleague with LiveKit's own client; `roomsOf` lists the rooms of a session. */
export function describeColleagueInRoom(
  stage: { readonly product: Product },
  roomsOf: (sessionId: string) => Promise<readonly string[]>,
): void {
  itNeeds(['pocketsphinx_continuous', 'livekit-server'])(
    'hears a phone call in a room, which is created on joining and then removed, and takes it over',
    LIMIT,
    async () => {
      const { sessionId } = await expectTakenOver(
        stage.product,
        async ({ livekit_url: url = '', token = '' }, ofCall) => {
          expect(await roomsOf(ofCall.sessionId)).toHaveLength(1);
          const caller = await LivekitCaller.join(url, token, { keepsAudio: true });
          return {
            heard: () => caller.heard,
            speak: (samples) => caller.speak(samples),
            mode: () => caller.events.findLast(({ type }) => type === 'participant.mode')?.mode,
            leave: () => caller.leave(),
          };
        },
      );
      await vi.waitFor(async () => expect(await roomsOf(sessionId)).toEqual([]), PATIENCE);
    },
  );
}
