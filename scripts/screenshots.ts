/**
 * `npm run docs:screenshots`: takes the pictures of the documentation from the real pages of a product it
 * starts, after real calls: the talk page, every page of the console (also in dark mode and on a phone), the
 * API reference, and the widget on a page of its own. Pages about changes over time show simulated calls of
 * three weeks. `npm run docs:screenshots -- agent-scorecard` takes the pictures of this page of the console
 * only, and `call-file` that of an exported call. Needs Chromium, and port 5060 free.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Locator, Page } from 'playwright-core';
import { openWebhookReceiver } from '#test/fakes/webhook-receiver.ts';
import { ConsolePage } from '#test/journeys/console-page.ts';
import { recordWav } from '#test/journeys/microphone.ts';
import { type Product, startProduct } from '#test/journeys/product.ts';
import { launchBrowser, TalkPage } from '#test/journeys/talk-page.ts';
import { demoAgentId } from '#test/journeys/tenant.ts';
import { makePastCalls, type PastAgents } from './past-calls.ts';
import { takeWidget } from './widget-pictures.ts';

const IMAGES = join(import.meta.dirname, '../docs/images');
const VIEWPORT = { width: 1200, height: 760 };
const PHONE = { width: 390, height: 780 };
/** Transitions of the page have ended. */
const STILL_MS = 700;
/** Time for the product's work after a call, on a slow machine too. */
const WAIT_MS = 90_000;
/** After the end of speech: the detector has noticed it, and the agent waits. */
const WAITING_MS = 350;
/** What the caller says in the call shown, and when. */
const MICROPHONE = [11, 'What are your opening hours?', 30] as const;

/** Pages of the console that are wanted; none: everything. */
const WANTED = new Set(process.argv.slice(2));

async function run(): Promise<void> {
  mkdirSync(join(IMAGES, 'console'), { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), 'screenshots-'));
  const microphone = join(folder, 'microphone.wav');
  writeFileSync(microphone, recordWav(MICROPHONE, 48_000));
  const dataDir = join(folder, 'data');
  const past = await makePastCalls(dataDir);
  const [product, browser, receiver] = await Promise.all([
    startProduct({ dataDir, environment: { SIP_PORT: '5060' } }),
    launchBrowser(microphone),
    openWebhookReceiver(),
  ]);
  try {
    await takeConsole(browser, product, { key: past.key, pages: pastPages(past) });
    if (WANTED.size > 0 && [...WANTED].every((name) => name in pastPages(past))) return;
    const places = await seed(product, `${receiver.url}/calls`);
    const callId = await haveSpokenCall(browser, product);
    const textId = await haveWrittenConversation(product, places.agentId);
    if (WANTED.size === 0) await takeTalk(browser, product);
    await takeConsole(browser, product, {
      key: product.rootKey,
      pages: consolePages({ ...places, callId, textId }),
    });
    await takeSignIn(browser, product);
    if (WANTED.size === 0 || WANTED.has('call-file'))
      await takeCallFile(browser, product, { callId, folder });
    if (WANTED.size > 0) return;
    await takeApi(browser, product);
    await takeWidget(browser, product, take);
  } finally {
    await browser.close();
    await product.close();
    await receiver.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Places {
  readonly agentId: string;
  readonly batchId: string;
  readonly toolId: string;
}

/** Data of an account in use: tools, knowledge, numbers, tests, a list to call, a refused call. */
async function seed(product: Product, webhookUrl: string): Promise<Places> {
  const agentId = await demoAgentId(product);
  const tool = await product.ask('POST', '/v1/agent/tools', {
    name: 'Find booking',
    description: 'Looks a booking up by the name it was made under.',
    url: webhookUrl,
    arguments: [{ name: 'guest', description: 'Name the table was booked under' }],
    body_template: '{"guest": "{{guest}}"}',
  });
  await product.ask('PATCH', `/v1/agent/agents/${agentId}/config`, {
    webhooks: { post_call: [{ url: webhookUrl, secret: 'a secret for the picture' }] },
    tools: { tool_ids: [tool.tool_id] },
    analysis: {
      data_fields: [{ name: 'party_size', type: 'number', description: 'How many people want to come' }],
      criteria: [{ name: 'question_answered', description: 'The caller got an answer to what was asked' }],
    },
  });
  await product.ask('POST', `/v1/agent/agents/${agentId}/publish`, { version_title: 'Tells bookings' });
  await product.ask('PATCH', `/v1/agent/agents/${agentId}/config`, {
    conversation: { eagerness: 'eager', response_wait_ms: 450 },
  });
  for (const [name, description] of [
    ['Night line', 'Takes messages when nobody is in.'],
    ['Reservations', 'Books tables and changes bookings.'],
  ])
    await product.ask('POST', '/v1/agent/agents', { name, description });
  const form = new FormData();
  form.set(
    'source',
    new File(['# Opening hours\n\nEvery day from noon until ten in the evening.\n'], 'opening-hours.md', {
      type: 'text/markdown',
    }),
  );
  await fetch(`${product.url}/v1/agent/knowledge-sources`, {
    method: 'POST',
    headers: { authorization: `Bearer ${product.rootKey}` },
    body: form,
  });
  const number = await product.ask('POST', '/v1/agent/phone-numbers', {
    provider: 'managed',
    phone_number: '+15550100042',
    label: 'Nobody answers here yet',
  });
  await product.ask('POST', '/v1/agent/tests', {
    name: 'Tells the opening hours',
    test_type: 'next_reply',
    agent_ids: [agentId],
    conversation: [{ role: 'user', text: 'What are your opening hours?' }],
    expectation: 'Tells from when until when the restaurant is open.',
  });
  await product.ask('POST', `/v1/agent/agents/${agentId}/tests/run`, {});
  await product.ask('POST', '/v1/keys', { name: 'Booking server' });
  // Refused, for the page that explains why: this agent was never published.
  const { agents } = await product.ask('GET', '/v1/agent/agents?search=Night');
  await product.api('POST', '/v1/agent/sessions', { agent_id: agents[0].agent_id });
  const batch = await product.ask('POST', '/v1/agent/batch-calls', {
    name: 'Remind guests of Saturday',
    agent_id: agentId,
    phone_number_id: number.phone_number_id,
    recipients: ['+14155550123', '+14155550124', '+14155550125'].map((to_number) => ({ to_number })),
    schedule: { start_at: '2099-01-01T10:00:00Z' },
    disclosure: 'This is an automated call.',
  });
  return { agentId, batchId: batch.batch_call_id, toolId: tool.tool_id };
}

/** Makes a voice call; returns its session. */
async function haveSpokenCall(browser: Browser, product: Product): Promise<string> {
  const visitor = await TalkPage.open(browser, product);
  await visitor.press('Start talking');
  await visitor.line('Agent', 'We are open every day');
  await visitor.status('Listening');
  await visitor.type('Who are you?');
  await visitor.line('Agent', 'I am the Parley demo');
  await visitor.status('Listening');
  const sessionId = await visitor.sessionId();
  await visitor.press('Hang up');
  await visitor.close();
  const path = `/v1/agent/sessions/${sessionId}`;
  await product.until(
    'the call is analysed',
    async () => (await product.ask('GET', path)).analysis?.status === 'completed',
    WAIT_MS,
  );
  await product.until(
    'it was told',
    async () => {
      const { deliveries } = await product.ask('GET', `${path}/deliveries`);
      return (
        deliveries.length >= 2 && deliveries.every(({ state }: { state: string }) => state === 'delivered')
      );
    },
    WAIT_MS,
  );
  return sessionId;
}

/** Writes with the agent; returns the text session, which goes on. */
async function haveWrittenConversation(product: Product, agentId: string): Promise<string> {
  const { text_session_id } = await product.ask('POST', '/v1/agent/text-sessions', {
    agent_id: agentId,
    end_user_id: 'guest-17',
  });
  for (const content of ['What are your opening hours?', 'Book a table for four people, please.'])
    await product.ask('POST', `/v1/agent/text-sessions/${text_session_id}/messages`, { content });
  return text_session_id;
}

/** In the middle of a conversation, while the agent speaks. */
async function takeTalk(browser: Browser, product: Product): Promise<void> {
  const visitor = await TalkPage.open(browser, product, { viewport: VIEWPORT });
  await visitor.press('Type instead');
  await visitor.line('Agent', 'or ask what I can do.');
  await visitor.type('What are your opening hours?');
  await visitor.line('Agent', 'Would you like to book a table?');
  await visitor.status('Listening');
  await visitor.type('Yes, book a table for four people');
  await visitor.status('Speaking');
  await take(visitor.page, 'talk');
  await visitor.close();
}

/** Pages of an account whose agents have weeks of calls. */
function pastPages({ deskId, learnerId }: PastAgents): Readonly<Record<string, string>> {
  return {
    'agent-scorecard': `/agents/${deskId}/scorecard`,
    'agent-alerts': `/agents/${deskId}/scorecard`,
    'agent-share': `/agents/${deskId}/versions`,
    'agent-regret': `/agents/${learnerId}/conversation`,
    'agent-rehearsal': `/agents/${deskId}`,
  };
}

/** Pages of the operator's account. */
function consolePages({
  agentId,
  batchId,
  toolId,
  callId,
  textId,
}: Places & { readonly callId: string; readonly textId: string }): Readonly<Record<string, string>> {
  return {
    overview: '',
    agents: '/agents',
    'agent-prompt': `/agents/${agentId}`,
    'agent-voice': `/agents/${agentId}/voice`,
    'agent-own-speech': `/agents/${agentId}/voice`,
    'agent-tools': `/agents/${agentId}/tools`,
    'agent-conversation': `/agents/${agentId}/conversation`,
    'agent-tuning': `/agents/${agentId}/conversation`,
    'agent-phone': `/agents/${agentId}/phone`,
    'agent-analysis': `/agents/${agentId}/analysis`,
    'agent-test-call': `/agents/${agentId}/test`,
    'agent-writing': `/agents/${agentId}/write?session=${textId}`,
    'agent-versions': `/agents/${agentId}/versions`,
    'agent-access': `/agents/${agentId}/access`,
    tools: '/tools',
    tool: `/tools/${toolId}`,
    knowledge: '/knowledge',
    numbers: '/numbers',
    calls: '/calls',
    call: `/calls/${callId}`,
    'text-sessions': '/text-sessions',
    'text-session': `/text-sessions/${textId}`,
    'batch-calls': '/batch-calls',
    'batch-call': `/batch-calls/${batchId}`,
    analytics: '/analytics',
    webhooks: '/webhooks',
    'refused-calls': '/refusals',
    'agent-tests': `/agent-tests?agent_id=${agentId}`,
    wallet: '/wallet',
    keys: '/keys',
  };
}

async function takeConsole(
  browser: Browser,
  product: Product,
  { key, pages }: { readonly key: string; readonly pages: Readonly<Record<string, string>> },
): Promise<void> {
  const names = Object.keys(pages).filter((name) => WANTED.size === 0 || WANTED.has(name));
  const visits = [
    { suffix: '', options: { viewport: VIEWPORT } },
    { suffix: '-dark', options: { viewport: VIEWPORT, colorScheme: 'dark' } },
    { suffix: '-phone', options: { viewport: PHONE } },
  ] as const;
  for (const { suffix, options } of visits) {
    if (names.length === 0) return;
    const person = await ConsolePage.open(browser, product, { key, ...options });
    for (const name of names) {
      await person.go(pages[name] ?? '');
      if (name === 'call')
        await person.page.getByRole('slider', { name: 'Position in the recording' }).waitFor();
      if (name === 'agent-prompt') await person.see('of 4000 tokens');
      await ACTIONS[name]?.(person);
      // The call's page is pictured whole; the others show one window.
      await take(person.page, `console/${name}${suffix}`, name === 'call');
    }
    await person.close();
  }
}

async function takeSignIn(browser: Browser, product: Product): Promise<void> {
  if (WANTED.size > 0 && !WANTED.has('sign-in')) return;
  const visitor = await ConsolePage.open(browser, product, { viewport: VIEWPORT });
  await visitor.go('');
  await take(visitor.page, 'console/sign-in');
  await visitor.close();
}

/** Actions before the picture of a part that lies further down its page, or is filled when asked for. */
const ACTIONS: Readonly<Record<string, (person: ConsolePage) => Promise<void>>> = {
  'agent-own-speech': async (person) => {
    const section = person.page.getByRole('region', { name: 'Your own speech servers' });
    await section.getByLabel('Hear with your own recogniser').click();
    await section.getByLabel('Address').fill('wss://speech.example.com/stt');
    await toTop(person, section);
  },
  'agent-tuning': async (person) => {
    const section = person.page.getByRole('region', { name: 'Tuning on past calls' });
    await person.press('Judge them', section);
    await section.getByText(/^Computed over/).waitFor();
    await toTop(person, section);
  },
  'agent-scorecard': async (person) => {
    await person.page.getByRole('region', { name: 'The calls behind it' }).waitFor();
    await toTop(person, person.page.getByRole('alert'));
  },
  'agent-alerts': async (person) => {
    const section = person.page.getByRole('region', { name: 'Alerts about rates' });
    await section.waitFor();
    await toTop(person, section);
  },
  'agent-share': async (person) => {
    await toTop(person, person.page.getByRole('region', { name: 'Share of calls' }));
  },
  'agent-regret': async (person) => {
    const section = person.page.getByRole('region', { name: 'Regret and learning' });
    await section.getByText('What it has done').or(section.getByRole('table')).first().waitFor();
    await toTop(person, section);
  },
  'agent-rehearsal': async (person) => {
    await person.press('Rehearse…');
    await person.press('Rehearse', person.page.getByRole('dialog'));
    await person.see(/^\d+ calls? rehearsed/);
  },
};

/** Scrolls so that a section begins at the top of the window, below the head of the page. */
async function toTop({ page }: ConsolePage, section: Locator): Promise<void> {
  const top = (await section.boundingBox())?.y ?? 0;
  await page.evaluate(`scrollBy(0, ${Math.round(top) - 72})`);
}

/** The file of the call, opened without the product's server. */
async function takeCallFile(
  browser: Browser,
  product: Product,
  { callId, folder }: { readonly callId: string; readonly folder: string },
): Promise<void> {
  const file = join(folder, 'call.html');
  const response = await fetch(`${product.url}/v1/agent/sessions/${callId}/call-file`, {
    method: 'POST',
    headers: { authorization: `Bearer ${product.rootKey}`, 'content-type': 'application/json' },
    body: '{}',
  });
  writeFileSync(file, await response.text());
  const page = await browser.newPage({ viewport: VIEWPORT });
  await page.goto(pathToFileURL(file).href);
  await page.locator('html[data-ready]').waitFor();
  // While the agent waits for the caller to continue.
  await page.getByRole('button', { name: /^Turn 1/ }).click();
  const slider = page.getByRole('slider', { name: 'Position in the call' });
  await slider.fill(String(Math.round(Number(await slider.inputValue()) / 10) * 10 + WAITING_MS));
  await take(page, 'call-file', true);
}

async function takeApi(browser: Browser, product: Product): Promise<void> {
  const page = await browser.newPage({ viewport: VIEWPORT });
  await page.goto(`${product.url}/docs`);
  await page.locator('.opblock-summary-path').first().waitFor();
  await take(page, 'api');
}

async function take(page: Page, name: string, isWhole = false): Promise<void> {
  const size = page.viewportSize() ?? VIEWPORT;
  // A window as high as the page, so that fixed elements reach the bottom of the picture.
  if (isWhole)
    await page.setViewportSize({
      ...size,
      height: await page.evaluate<number>('document.documentElement.scrollHeight'),
    });
  await page.waitForTimeout(STILL_MS);
  await page.screenshot({ path: join(IMAGES, `${name}.png`) });
  await page.setViewportSize(size);
}

await run();
