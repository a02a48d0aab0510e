/** Journey: visitors open the page in a browser and talk to the demo agent over direct WebRTC, by microphone and in writing, until they hang up, leave, or the server is gone. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { describeNeeds, itNeeds } from '#test/needs.ts';
import { expectRecorded, expectWaterfall } from './kept.ts';
import { recordWav } from './microphone.ts';
import { type Product, startProduct } from './product.ts';
import { launchBrowser, TalkPage } from './talk-page.ts';
import { demoAgentId, Tenant } from './tenant.ts';

/** Long enough to hear the greeting out, and then the answer. */
const MICROPHONE = [11, 'What are your opening hours?', 30] as const;
const GREETING = 'Hello, this is the Parley demo.';
const NAME = 'I am the Parley demo, a rule-based model.';
const OPENING_HOURS = 'We are open every day from noon until ten in the evening.';
/** A client of one's own, in the page: connects without a microphone, asks one thing, and returns the agent's answer to it. */
const CONNECT_AND_ASK = `async (grant) => {
  const connection = new RTCPeerConnection();
  const channel = connection.createDataChannel('events');
  connection.addTransceiver('audio', { direction: 'recvonly' });
  const answer = new Promise((resolve) => {
    channel.onmessage = ({ data }) => {
      const event = JSON.parse(data);
      if (event.type === 'transcript' && event.role === 'agent' && event.text.includes('noon')) resolve(event.text);
    };
  });
  await connection.setLocalDescription(await connection.createOffer());
  const response = await fetch(grant.webrtc_url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer ' + grant.token },
    body: JSON.stringify({ type: 'offer', sdp: connection.localDescription.sdp }),
  });
  await connection.setRemoteDescription(await response.json());
  await new Promise((resolve) => { channel.onopen = resolve; });
  channel.send(JSON.stringify({ type: 'user.message', text: 'What are your opening hours?', audio: true }));
  return answer;
}`;
/** A sentence of speech is louder than this. */
const AUDIBLE = 0.001;

let product: Product;
let tenant: Tenant;
let browser: Browser;
let folder: string;

describeNeeds(['chromium'])('a conversation in the browser', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'browser-journey-'));
    const microphone = join(folder, 'microphone.wav');
    writeFileSync(microphone, recordWav(MICROPHONE, 48_000));
    [product, tenant, browser] = await Promise.all([
      startProduct({ environment: { PUBLIC_RATE_PER_IP: '1000' } }),
      Tenant.open(),
      launchBrowser(microphone),
    ]);
    await tenant.subscribe(product, await demoAgentId(product));
  });
  afterAll(async () => {
    await browser?.close();
    await product?.close();
    await tenant?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  itNeeds(['chromium', 'pocketsphinx_continuous'])('is heard, understood, answered, shown and kept', { timeout: 90_000 }, async () => {
    const visitor = await TalkPage.open(browser, product);
    await visitor.press('Start talking');
    await visitor.status('Speaking');
    await visitor.line('Agent', GREETING);
    await visitor.line('You', /what are your opening hours/i);
    await visitor.line('Agent', OPENING_HOURS);
    expect(await visitor.receivedEnergy()).toBeGreaterThan(AUDIBLE);
    await visitor.status('Listening');
    await visitor.type('Who are you?');
    await visitor.line('Agent', NAME);
    await visitor.press('Hang up');
    await visitor.status('The conversation has ended (user hangup)');
    await expectKept(await visitor.sessionId());
    await visitor.close();
  });

  itNeeds(['chromium'])('can be had in writing, until the agent hangs up, and once more', { timeout: 60_000 }, async () => {
    const visitor = await TalkPage.open(browser, product);
    await visitor.press('Type instead');
    await visitor.line('Agent', GREETING);
    await visitor.type('What are your opening hours?');
    await visitor.line('You', 'What are your opening hours?');
    await visitor.line('Agent', OPENING_HOURS);
    expect(await visitor.receivedEnergy()).toBeGreaterThan(AUDIBLE);
    await visitor.type('Goodbye');
    await visitor.line('Agent', 'Thank you for calling. Goodbye!');
    await visitor.status('The conversation has ended (agent hangup)');
    expect(await settled(await visitor.sessionId())).toMatchObject({ status: 'completed', end_reason: 'agent_hangup' });
    await visitor.press('Type instead');
    await visitor.line('Agent', GREETING);
    await visitor.close();
  });

  itNeeds(['chromium'])('ends at once when the visitor leaves the page, and a new one can begin', { timeout: 60_000 }, async () => {
    const visitor = await TalkPage.open(browser, product);
    await visitor.press('Type instead');
    await visitor.line('Agent', GREETING);
    const left = await visitor.sessionId();
    await visitor.page.reload();
    expect(await settled(left, 5_000)).toMatchObject({ status: 'completed', end_reason: 'user_hangup' });
    await visitor.press('Type instead');
    await visitor.line('Agent', GREETING);
    expect(await visitor.sessionId()).not.toBe(left);
    await visitor.close();
  });

  itNeeds(['chromium'])('goes on over a second connection with the same token', { timeout: 60_000 }, async () => {
    const visitor = await TalkPage.open(browser, product);
    const grant = await product.ask('POST', '/v1/agent/sessions', { agent_id: await demoAgentId(product) });
    const ask = () => visitor.page.evaluate<string>(`(${CONNECT_AND_ASK})(${JSON.stringify(grant)})`);
    expect(await ask()).toContain('noon');
    expect(await ask()).toContain('noon');
    expect((await sessionOf(grant.session_id)).status).toBe('active');
    await product.ask('POST', `/v1/agent/sessions/${grant.session_id}/end`);
    const session = await settled(grant.session_id);
    expect(session).toMatchObject({ status: 'completed', end_reason: 'user_hangup' });
    await visitor.close();
  });

  itNeeds(['chromium'])('goes on while the control plane dies and comes back', { timeout: 60_000 }, async () => {
    const visitor = await TalkPage.open(browser, product);
    await visitor.press('Type instead');
    await visitor.line('Agent', GREETING);
    expect(product.kill('control-plane')).toBe(1);
    await visitor.type('Who are you?');
    await visitor.line('Agent', NAME);
    await visitor.press('Hang up');
    const sessionId = await visitor.sessionId();
    await product.until('it is ready again', async () => (await fetch(`${product.url}/readyz`)).status === 200);
    const session = await settled(sessionId);
    expect(session).toMatchObject({ status: 'completed', end_reason: 'user_hangup' });
    expect(session.items.map((item: { content?: string }) => item.content)).toContain(NAME);
    await visitor.close();
  });

  itNeeds(['chromium'])('tells a visitor who has no microphone what to do', async () => {
    const mute = await launchBrowser();
    const visitor = await TalkPage.open(mute, product);
    await visitor.press('Start talking');
    expect(await visitor.problem()).toBe('The microphone is not available; allow it for this page, or type instead');
    await visitor.press('Type instead');
    await visitor.line('Agent', GREETING);
    await mute.close();
  });

  itNeeds(['chromium'])('can be had by everyone: no serious finding of axe, light or dark', { timeout: 60_000 }, async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const visitor = await TalkPage.open(browser, product, { colorScheme });
      await visitor.status('Ready when you are');
      expect(await seriousFindings(visitor)).toEqual([]);
      await visitor.press('Type instead');
      await visitor.line('Agent', GREETING);
      await visitor.type('Who are you?');
      await visitor.line('You', 'Who are you?');
      expect(await seriousFindings(visitor)).toEqual([]);
      await visitor.press('Hang up');
      await visitor.status('The conversation has ended (user hangup)');
      expect(await seriousFindings(visitor)).toEqual([]);
      await visitor.close();
    }
  });

  itNeeds(['chromium'])('says so when the server is away, and works when it is back', { timeout: 60_000 }, async () => {
    const visitor = await TalkPage.open(browser, product);
    await visitor.status('Ready when you are');
    await visitor.page.context().setOffline(true);
    await visitor.press('Type instead');
    expect(await visitor.problem()).toBe('The server cannot be reached');
    await visitor.page.context().setOffline(false);
    await visitor.press('Type instead');
    await visitor.line('Agent', GREETING);
    await visitor.close();
  });

  itNeeds(['chromium'])('becomes possible by itself when the page was opened before the server was ready', { timeout: 60_000 }, async () => {
    const visitor = await TalkPage.open(browser, product);
    await visitor.page.route('**/demo.json', (route) => route.abort());
    await visitor.page.reload();
    expect(await visitor.problem()).toBe('The server cannot be reached; trying again');
    await visitor.page.unroute('**/demo.json');
    await visitor.press('Type instead');
    await visitor.line('Agent', GREETING);
    await visitor.close();
  });
});

/** The session, its recording and its waterfall are there, and the tenant was told. */
async function expectKept(sessionId: string): Promise<void> {
  const session = await settled(sessionId);
  expect(session).toMatchObject({ status: 'completed', end_reason: 'user_hangup', source: 'public', direction: 'inbound', caller_number: null });
  const said = session.items.map((item: { role?: string; content?: string }) => `${item.role}: ${item.content?.toLowerCase()}`);
  expect(said).toContain('user: what are your opening hours');
  expect(said).toContain('user: who are you?');
  for (const turn of session.turns) expectWaterfall(turn);
  expect(session.turns.length).toBeGreaterThanOrEqual(1);
  await expectRecorded(product, sessionId, { agent: 8, user: 1 });
  await product.until('the tenant was told', () => tenant.eventsOf(sessionId).length >= 2, 20_000);
  expect(tenant.eventsOf(sessionId).map(({ event }) => event)).toEqual(['call.ended', 'call.analyzed']);
}

/** The session once it is over. */
async function settled(sessionId: string, withinMs = 10_000) {
  await product.until('the session is over', async () => ['completed', 'failed'].includes((await sessionOf(sessionId)).status), withinMs);
  return sessionOf(sessionId);
}

function sessionOf(sessionId: string) {
  return product.ask('GET', `/v1/agent/sessions/${sessionId}`);
}

/** What axe finds that keeps somebody from using the page. */
async function seriousFindings(visitor: TalkPage): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page: visitor.page }).analyze();
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}
