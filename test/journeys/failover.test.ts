/**
 * Journey: a part dies during calls. When the control plane dies and restarts, the caller notices nothing.
 * When a worker dies in mid-sentence, another one takes over its calls, by phone and browser, announces this
 * and answers the next question; each remains one call with one price and complete data.
 */
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { parseMoney, perMinute } from '#base/money.ts';
import type { CallRecord } from '#caller/caller.ts';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene, type Scene } from '#caller/scene.ts';
import { voicedSeconds } from '#caller/voiced.ts';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import { linesOf } from './asked-by-phone.ts';
import { transcribe } from './ear.ts';
import { exportedFile } from './exported-file.ts';
import { describeFailoverOfAll } from './failover-of-all.ts';
import { describeKeysOfLostWorker } from './pressed-keys.ts';
import { type Product, startProduct } from './product.ts';
import { launchBrowser, TalkPage } from './talk-page.ts';
import { demoAgentId, Tenant } from './tenant.ts';
import { AUDIBLE, GREETING, OPENING_HOURS, settled } from './web-conversation.ts';

const NEEDED = ['pocketsphinx_continuous'];
const LONG = { timeout: 30_000, interval: 200 };
/** Outside the range of the product's own. */
const PORTS = { first: 43_300, last: 43_349 };
/** From the table in docs/settings.md, micro-dollars per minute. */
const [PRICE_PHONE, PRICE_WEB] = [70_000, 60_000];
const RATE_HZ = 8_000;
/** During the greeting. */
const KILL_WORKER_AFTER_MS = 3_000;
/** Later in it, so that the question is asked while the control plane is down or has just restarted. */
const KILL_CONTROL_PLANE_AFTER_MS = 6_000;
const ANSWER = 'we are open every day from noon until ten in the evening';

const stage = {} as { product: Product };
let product: Product;
let tenant: Tenant;

beforeAll(async () => {
  [product, tenant] = await Promise.all([startProduct(), Tenant.open()]);
  stage.product = product;
  await tenant.subscribe(product, await demoAgentId(product));
});
afterAll(async () => {
  await product?.close();
  await tenant?.close();
});

describeNeeds(NEEDED)('a call whose worker is killed', () => {
  itNeeds(NEEDED)(
    'continues in mid-sentence on another worker: one session, one price, one transcript',
    { timeout: 180_000 },
    async () => {
      const scene = prepareScene({
        name: 'a question after the gap',
        steps: [
          { do: 'listen', quiet_ms: 8_000 },
          { do: 'say', text: 'What are your opening hours?' },
          { do: 'listen', quiet_ms: 3_000 },
        ],
      });
      const before = await balance();
      const from = '+15557650041';
      const calling = callFrom(from, scene);
      await product.until('the call is active', () => has('active', from));
      await new Promise((resolve) => setTimeout(resolve, KILL_WORKER_AFTER_MS));
      expect(product.kill('worker')).toBeGreaterThan(0);

      const record = await calling;
      expect(record.outcome).toEqual({ type: 'answered', endedBy: 'caller' });
      expect(
        await transcribe(record.heard, [
          ANSWER,
          'sorry i lost you for a second',
          'you can ask for our opening hours',
        ]),
      ).toContain(ANSWER);

      const session = await completed(from);
      expect(session).toMatchObject({ end_reason: 'user_hangup', sip_call_id: record.callId });
      const said = linesOf(session.items);
      // One transcript holds the heard part of the greeting and all that followed on both workers.
      expect(said[0]).toMatch(/^assistant: Hello, this is the/);
      expect(said).toContainEqual(expect.stringMatching(/^assistant: Sorry, I lost/));
      expect(said.slice(-2)).toEqual([
        'user: what are your opening hours',
        expect.stringMatching(/^assistant: We are open every day/),
      ]);
      // One call, charged once, for its whole duration.
      await expect
        .poll(async () => before - (await balance()), LONG)
        .toBe(perMinute(PRICE_PHONE, session.duration_seconds));
      await expectWholeRecording(session);
      await expectReported(session.session_id);
      // A later worker, too, has its words and sound signed while the call runs. A machine that is busy may
      // need more than one try to give it the call.
      const { chain } = await exportedFile(product, session.session_id);
      expect(chain?.missing).toEqual([]);
      expect(chain?.links.at(-1)?.epoch).toBeGreaterThan(1);
    },
  );

  itNeeds(['chromium'])(
    'reconnects by itself in a browser: the agent apologises and answers in voice, and the call is charged once',
    { timeout: 180_000 },
    async () => {
      const before = await balance();
      const browser = await launchBrowser();
      try {
        const visitor = await TalkPage.open(browser, product);
        await visitor.press('Type instead');
        await visitor.line('Agent', GREETING);
        expect(product.kill('worker')).toBeGreaterThan(0);
        await visitor.line('Agent', 'I lost you for a second');
        const energy = await visitor.receivedEnergy();
        await visitor.type('What are your opening hours?');
        await visitor.line('Agent', OPENING_HOURS);
        await expect
          .poll(async () => (await visitor.receivedEnergy()) - energy, LONG)
          .toBeGreaterThan(AUDIBLE);
        await visitor.press('Hang up');
        const session = await settled(product, await visitor.sessionId());
        expect(session).toMatchObject({ status: 'completed', end_reason: 'user_hangup' });
        await expect
          .poll(async () => before - (await balance()), LONG)
          .toBe(perMinute(PRICE_WEB, session.duration_seconds));
        await expectWholeRecording(session);
        await visitor.close();
      } finally {
        await browser.close();
      }
    },
  );
});

describeKeysOfLostWorker(stage);

describeNeeds(NEEDED)('a call whose control plane is killed', () => {
  itNeeds(NEEDED)('continues, is answered, and has a complete transcript', { timeout: 90_000 }, async () => {
    const scene = prepareScene({
      name: 'one question',
      steps: [
        { do: 'listen' },
        { do: 'say', text: 'What are your opening hours?' },
        { do: 'listen', quiet_ms: 1_500 },
      ],
    });
    const from = '+15557650042';
    const calling = callFrom(from, scene);
    await product.until('the call is active', () => has('active', from));
    const workers = product.parts('worker').map(({ pid }) => pid);
    await new Promise((resolve) => setTimeout(resolve, KILL_CONTROL_PLANE_AFTER_MS));
    expect(product.kill('control-plane')).toBe(1);

    const record = await calling;
    expect(record.outcome).toEqual({ type: 'answered', endedBy: 'caller' });
    expect(product.parts('worker').map(({ pid }) => pid)).toEqual(workers);
    expect(voicedSeconds(record.heard, RATE_HZ)).toBeGreaterThan(9);
    expect(
      await transcribe(record.heard, [
        ANSWER,
        'you can ask for our opening hours',
        'would you like to book a table',
      ]),
    ).toContain(ANSWER);

    const session = await completed(from);
    expect(session).toMatchObject({ end_reason: 'user_hangup', sip_call_id: record.callId });
    expect(linesOf(session.items)).toEqual([
      expect.stringMatching(/^assistant: Hello, this is the Parley demo/),
      'user: what are your opening hours',
      expect.stringMatching(/^assistant: We are open every day/),
    ]);
    await expectReported(session.session_id);
  });
});

describeFailoverOfAll(stage);

/** Calls the product. A call that still goes on at the end of its test is hung up. */
function callFrom(from: string, scene: Scene): Promise<CallRecord> {
  const over = new AbortController();
  const calling = new PhoneCaller({ ports: PORTS, from }).call({
    target: product.sipAddress(),
    scene,
    signal: over.signal,
  });
  onTestFinished(async () => {
    over.abort();
    await calling.catch(() => undefined);
  });
  return calling;
}

/**
 * Both tracks last as long as the call, and mark the gap from the lost worker's last segment until another
 * one took the call.
 */
async function expectWholeRecording(session: {
  session_id: string;
  started_at: string;
  duration_seconds: number;
  takeovers: Takeover[];
}): Promise<void> {
  const path = `/v1/agent/sessions/${session.session_id}/recording`;
  await product.until(
    'the recording is complete',
    async () => (await product.ask('GET', path)).status === 'complete',
  );
  const { tracks } = await product.ask('GET', path);
  expect(session.takeovers).toHaveLength(1);
  expect(tracks.map(({ role }: { role: string }) => role).sort()).toEqual(['agent', 'user']);
  for (const { duration_ms, gaps, started_at } of tracks) {
    const startMs = Date.parse(started_at);
    expect(Math.abs(startMs - Date.parse(session.started_at))).toBeLessThan(1_000);
    // The duration is rounded up to a second, and a leg takes a moment to close.
    expect(duration_ms).toBeGreaterThan((session.duration_seconds - 3) * 1_000);
    const isMarked = ({ lost_at, taken_over_at }: Takeover) =>
      gaps.some(
        (gap: { start_ms: number; duration_ms: number }) =>
          startMs + gap.start_ms <= Date.parse(lost_at) &&
          startMs + gap.start_ms + gap.duration_ms >= Date.parse(taken_over_at),
      );
    expect(
      session.takeovers.every(isMarked),
      JSON.stringify({ gaps, started_at, takeovers: session.takeovers }),
    ).toBe(true);
  }
}

interface Takeover {
  readonly lost_at: string;
  readonly taken_over_at: string;
}

/** The balance in micro-dollars. */
async function balance(): Promise<number> {
  return parseMoney((await product.ask('GET', '/wallet/self/api-credit')).credit) ?? 0;
}

/** Waits until the caller's only session is completed, and reads it. */
async function completed(from: string) {
  await product.until('the session is completed', () => has('completed', from));
  return product.ask('GET', `/v1/agent/sessions/${(await sessionsOf(from))[0].session_id}`);
}

/** Waits until the tenant has its webhooks of the call: `call.ended` and `call.analyzed`, each once. */
async function expectReported(sessionId: string): Promise<void> {
  await product.until('the webhooks have arrived', () => tenant.eventsOf(sessionId).length >= 2);
  expect(tenant.eventsOf(sessionId).map(({ event }) => event)).toEqual(['call.ended', 'call.analyzed']);
}

/** The caller has one session, in this status. */
async function has(status: string, from: string): Promise<boolean> {
  const sessions: { status: string }[] = await sessionsOf(from);
  return sessions.length === 1 && sessions[0]?.status === status;
}

async function sessionsOf(from: string) {
  return (await product.ask('GET', `/v1/agent/sessions?caller_number=${encodeURIComponent(from)}`)).sessions;
}
