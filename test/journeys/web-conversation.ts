/**
 * A conversation in the browser that every transport must support: by microphone and by text, until the
 * caller hangs up, and across the death of the control plane. Runs over direct connections and LiveKit rooms.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import type { ConsolePage } from './console-page.ts';
import { expectRecorded, expectWaterfall } from './kept.ts';
import { ASKED, QUESTION, recordWav } from './microphone.ts';
import type { Product } from './product.ts';
import { launchBrowser, TalkPage } from './talk-page.ts';
import { demoAgentId, greetWith, Tenant } from './tenant.ts';

/**
 * Listens to the greeting and asks a question; repeats it, as people do, where a busy machine connects late
 * or understands too slowly.
 */
const MICROPHONE = [5, QUESTION, 30, QUESTION, 30, QUESTION, 30] as const;
export const GREETING = 'Hello, this is the Parley demo.';
/** In a spoken call the question interrupts a late greeting, which then ends early. */
const GREETED = 'Hello, this';
export const NAME = 'I am the Parley demo, a rule-based model.';
export const OPENING_HOURS = 'We are open every day from noon until ten in the evening.';
/** Energy that spoken sentences exceed. */
export const AUDIBLE = 0.001;

/** The environment of a conversation. */
export interface Stage {
  product: Product;
  browser: Browser;
}

/** Visitors of tests all come from one address. */
export const MANY_VISITORS = { PUBLIC_RATE_PER_IP: '1000' };
const PATIENCE = { timeout: 60_000, interval: 200 };

/**
 * Describes the conversation on a product with one transport, which has these needs, plus the tests that
 * `more` adds. Its browser is there for all of them.
 */
export function describeConversation(
  name: string,
  stage: Stage,
  transportNeeds: readonly string[],
  more: () => void,
): void {
  const needs = ['chromium', ...transportNeeds];
  let tenant: Tenant;
  let folder: string;

  describeNeeds(needs)(name, () => {
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'browser-journey-'));
      const microphone = join(folder, 'microphone.wav');
      writeFileSync(microphone, recordWav(MICROPHONE, 48_000));
      [tenant, stage.browser] = await Promise.all([Tenant.open(), launchBrowser(microphone)]);
      await greetWith(stage.product, GREETING);
      await tenant.subscribe(stage.product, await demoAgentId(stage.product));
    });
    afterAll(async () => {
      await stage.browser?.close();
      await tenant?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    itNeeds([...needs, 'pocketsphinx_continuous'])(
      'is understood, answered, shown and stored',
      { timeout: 180_000 },
      async () => {
        const visitor = await TalkPage.open(stage.browser, stage.product);
        await visitor.press('Start talking');
        await visitor.status('Speaking');
        await visitor.line('Agent', GREETED);
        await visitor.line('You', ASKED);
        await visitor.line('Agent', OPENING_HOURS);
        expect(await visitor.receivedEnergy()).toBeGreaterThan(AUDIBLE);
        await visitor.status('Listening');
        await visitor.type('Who are you?');
        await visitor.line('Agent', NAME);
        await visitor.press('Hang up');
        await visitor.status('The conversation has ended (user hangup)');
        await expectKept(stage.product, tenant, await visitor.sessionId());
        await visitor.close();
      },
    );

    more();

    itNeeds(needs)('continues while the control plane dies and restarts', { timeout: 180_000 }, async () => {
      const { product } = stage;
      const visitor = await TalkPage.open(stage.browser, product);
      await visitor.press('Type instead');
      await visitor.line('Agent', GREETING);
      expect(product.kill('control-plane')).toBe(1);
      await visitor.type('Who are you?');
      await visitor.line('Agent', NAME);
      await visitor.press('Hang up');
      const sessionId = await visitor.sessionId();
      await product.until(
        'it is ready again',
        async () => (await fetch(`${product.url}/readyz`)).status === 200,
      );
      expect(await settled(product, sessionId)).toMatchObject({
        status: 'completed',
        end_reason: 'user_hangup',
      });
      // Speech during the outage is reported after the call's end.
      const said = async () =>
        (await product.ask('GET', `/v1/agent/sessions/${sessionId}`)).items.map(
          (item: { content?: string }) => item.content,
        );
      await vi.waitFor(async () => expect(await said()).toContain(NAME), { timeout: 60_000 });
      await visitor.close();
    });
  });
}

/**
 * A colleague at the console listens, takes the call over with their microphone and hands it back; in
 * between, the caller's messages are not answered.
 */
export async function expectTakenOverAtConsole(
  colleague: ConsolePage,
  product: Product,
  of: { readonly sessionId: string; write(text: string): Promise<void> },
): Promise<void> {
  const items = async () => (await product.ask('GET', `/v1/agent/sessions/${of.sessionId}`)).items;
  const events = async () => (await items()).flatMap((item: { event?: string }) => item.event ?? []);
  await colleague.go(`/calls/${of.sessionId}`);
  const before = (await events()).length;
  await colleague.press('Listen');
  await colleague.see('You hear both sides; nobody hears you.');
  await colleague.press('Take over');
  await colleague.see('You talk with the caller; the agent is silent.');
  await vi.waitFor(async () => expect(await events()).toContain('took_over'), PATIENCE);
  await of.write('Is there a person here?');
  // The colleague's own microphone may be transcribed after this message.
  const words = async () => (await items()).map(({ content }: { content?: string }) => content);
  await vi.waitFor(async () => expect(await words()).toContain('Is there a person here?'), PATIENCE);
  await colleague.press('Hand back');
  await colleague.see('You hear both sides; nobody hears you.');
  // Events of abandoned connections may be reported after the hand-back.
  const sinceHandBack = async () => {
    const all: { event?: string; role?: string }[] = await items();
    const handedBack = all.findLastIndex(({ event }) => event === 'handed_back');
    return handedBack === -1 ? [] : all.slice(handedBack).map(({ role }) => role);
  };
  await vi.waitFor(async () => expect(await sinceHandBack()).toContain('assistant'), PATIENCE);
  await colleague.press('Stop listening');
  // The connection with a microphone replaced the one without.
  const since = async () => (await events()).slice(before).sort();
  await vi.waitFor(
    async () =>
      expect(await since()).toEqual(['handed_back', 'joined', 'joined', 'left', 'left', 'took_over']),
    PATIENCE,
  );
}

/** Waits for the session's end and returns it. */
export async function settled(product: Product, sessionId: string) {
  const session = () => product.ask('GET', `/v1/agent/sessions/${sessionId}`);
  await product.until('the session has ended', async () =>
    ['completed', 'failed'].includes((await session()).status),
  );
  return session();
}

/** The session, its recording and its waterfall exist, and the tenant was notified. */
async function expectKept(product: Product, tenant: Tenant, sessionId: string): Promise<void> {
  const session = await settled(product, sessionId);
  expect(session).toMatchObject({
    status: 'completed',
    end_reason: 'user_hangup',
    source: 'public',
    direction: 'inbound',
    caller_number: null,
  });
  const said = session.items.map(
    (item: { role?: string; content?: string }) => `${item.role}: ${item.content?.toLowerCase()}`,
  );
  expect(session.items).toContainEqual(
    expect.objectContaining({ role: 'user', content: expect.stringMatching(ASKED) }),
  );
  expect(said).toContain('user: who are you?');
  for (const turn of session.turns) expectWaterfall(turn);
  expect(session.turns.length).toBeGreaterThanOrEqual(1);
  await expectRecorded(product, sessionId, { agent: 5, user: 1 });
  await product.until('the webhooks have arrived', () => tenant.eventsOf(sessionId).length >= 2);
  expect(tenant.eventsOf(sessionId).map(({ event }) => event)).toEqual(['call.ended', 'call.analyzed']);
}
