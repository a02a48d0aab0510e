/**
 * A conversation in the browser as every transport must carry it: by microphone and in writing, until the
 * caller hangs up, and through the death of the control plane. Run over direct connections and over LiveKit
 * rooms.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import type { ConsolePage } from './console-page.ts';
import { expectRecorded, expectWaterfall } from './kept.ts';
import { ASKED, QUESTION, recordWav } from './microphone.ts';
import { type Product, startProduct } from './product.ts';
import { launchBrowser, TalkPage } from './talk-page.ts';
import { demoAgentId, Tenant } from './tenant.ts';

/**
 * Hears the greeting out and asks; asks again, as people do, where a busy machine was not connected yet or
 * took too long to understand.
 */
const MICROPHONE = [11, QUESTION, 30, QUESTION, 30, QUESTION, 30] as const;
export const GREETING = 'Hello, this is the Parley demo.';
export const NAME = 'I am the Parley demo, a rule-based model.';
export const OPENING_HOURS = 'We are open every day from noon until ten in the evening.';
/** A sentence of speech is louder than this. */
export const AUDIBLE = 0.001;

/** What a conversation runs on. */
export interface Stage {
  product: Product;
  browser: Browser;
}

/** Where the product's web sessions go. */
export interface TransportOfTests {
  readonly needs: readonly string[];
  /** Starts what it takes; the settings that point the product at it. */
  start(): Promise<Readonly<Record<string, string>>>;
  stop(): Promise<void>;
}

const PATIENCE = { timeout: 60_000 };

/** Describes the conversation over one transport, and what `more` adds for it. */
export function describeConversation(
  name: string,
  transport: TransportOfTests,
  more: (stage: Stage) => void,
): void {
  const needs = ['chromium', ...transport.needs];
  const stage = {} as Stage;
  let tenant: Tenant;
  let folder: string;

  describeNeeds(needs)(name, () => {
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'browser-journey-'));
      const microphone = join(folder, 'microphone.wav');
      writeFileSync(microphone, recordWav(MICROPHONE, 48_000));
      const environment = { PUBLIC_RATE_PER_IP: '1000', ...(await transport.start()) };
      [stage.product, tenant, stage.browser] = await Promise.all([
        startProduct({ environment }),
        Tenant.open(),
        launchBrowser(microphone),
      ]);
      await tenant.subscribe(stage.product, await demoAgentId(stage.product));
    });
    afterAll(async () => {
      await stage.browser?.close();
      await stage.product?.close();
      await tenant?.close();
      await transport.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    itNeeds([...needs, 'pocketsphinx_continuous'])(
      'is heard, understood, answered, shown and kept',
      { timeout: 180_000 },
      async () => {
        const visitor = await TalkPage.open(stage.browser, stage.product);
        await visitor.press('Start talking');
        await visitor.status('Speaking');
        await visitor.line('Agent', GREETING);
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

    itNeeds(needs)('goes on while the control plane dies and comes back', { timeout: 180_000 }, async () => {
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
      // What was said while nobody was there to be told is told later than the end.
      const said = async () =>
        (await product.ask('GET', `/v1/agent/sessions/${sessionId}`)).items.map(
          (item: { content?: string }) => item.content,
        );
      await expect.poll(said, { timeout: 60_000 }).toContain(NAME);
      await visitor.close();
    });

    more(stage);
  });
}

/**
 * A colleague at the console who listens, takes the call over with their microphone, and hands it back; the
 * caller's writing is answered by nobody in between.
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
  await expect.poll(events, PATIENCE).toContain('took_over');
  await of.write('Is there a person here?');
  // Their own microphone may be heard after it.
  const words = async () => (await items()).map(({ content }: { content?: string }) => content);
  await expect.poll(words, PATIENCE).toContain('Is there a person here?');
  await colleague.press('Hand back');
  await colleague.see('You hear both sides; nobody hears you.');
  // The connections that are left behind may be told after it.
  const sinceHandBack = async () => {
    const all: { event?: string; role?: string }[] = await items();
    const handedBack = all.findLastIndex(({ event }) => event === 'handed_back');
    return handedBack === -1 ? [] : all.slice(handedBack).map(({ role }) => role);
  };
  await expect.poll(sinceHandBack, PATIENCE).toContain('assistant');
  await colleague.press('Stop listening');
  // The connection without a microphone was left for the one with it.
  const since = async () => (await events()).slice(before).sort();
  await expect
    .poll(since, PATIENCE)
    .toEqual(['handed_back', 'joined', 'joined', 'left', 'left', 'took_over']);
}

/** The session once it is over. */
export async function settled(product: Product, sessionId: string) {
  const session = () => product.ask('GET', `/v1/agent/sessions/${sessionId}`);
  await product.until('the session is over', async () =>
    ['completed', 'failed'].includes((await session()).status),
  );
  return session();
}

/** The session, its recording and its waterfall are there, and the tenant was told. */
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
  await expectRecorded(product, sessionId, { agent: 8, user: 1 });
  await product.until('the tenant was told', () => tenant.eventsOf(sessionId).length >= 2);
  expect(tenant.eventsOf(sessionId).map(({ event }) => event)).toEqual(['call.ended', 'call.analyzed']);
}
