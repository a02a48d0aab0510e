/**
 * Journey: a user signs in to the console, creates an agent, talks to it, publishes it, and reviews a call:
 * transcript, recording, waterfall and the webhook that reported it. Then the first steps without a model.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import { readCallFile, splitCallFile } from '#protocol/call-file.ts';
import { voiceTest } from '#protocol/voice-test.ts';
import { openWebhookReceiver, type WebhookReceiver } from '#test/fakes/webhook-receiver.ts';
import { describeNeeds, has, itNeeds } from '#test/needs.ts';
import { setAlerts } from './alert-rules-page.ts';
import { ConsolePage } from './console-page.ts';
import { everyPage } from './console-pages.ts';
import { describeFirstSteps } from './first-steps.ts';
import { ASKED, QUESTION, recordWav } from './microphone.ts';
import { type Product, startProduct } from './product.ts';
import { callSilently } from './silent-phone.ts';
import { launchBrowser, TalkPage } from './talk-page.ts';
import type { Stage } from './web-conversation.ts';

/**
 * Listens to the greeting and asks a question; repeats it, as people do, where a busy machine understands too
 * slowly.
 */
const MICROPHONE = [5, QUESTION, 40, QUESTION, 40, QUESTION, 40] as const;
/** Duration of the questions. */
const ASKED_MS = 120_000;
const OPENING_HOURS = 'We are open every day from noon until ten in the evening.';
const SILENCE_MS = 12_000;
/** Each person has a page of their own. */
const AT_ONCE = { timeout: 360_000, concurrent: true };
const PHONE = { width: 390, height: 844 };

const NEEDED = ['chromium'];

const stage = {} as Stage;
let product: Product;
let browser: Browser;
let receiver: WebhookReceiver;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'console-journey-'));
  const microphone = join(folder, 'microphone.wav');
  writeFileSync(microphone, recordWav(MICROPHONE, 48_000));
  [product, receiver] = await Promise.all([startProduct(), openWebhookReceiver()]);
  stage.product = product;
  if (!has(NEEDED)) return;
  browser = await launchBrowser(microphone);
  stage.browser = browser;
});
afterAll(async () => {
  await browser?.close();
  await product?.close();
  await receiver?.close();
  rmSync(folder, { recursive: true, force: true });
});

describeNeeds(NEEDED)('the console', () => {
  itNeeds(['chromium'])(
    'accepts a valid key only, says what is wrong with another, and signs out',
    AT_ONCE,
    async () => {
      const visitor = await ConsolePage.open(browser, product);
      await visitor.go('/calls');
      await visitor.fill('API key', 'pk_wrong');
      await visitor.press('Sign in');
      await visitor.see('Invalid token');
      await visitor.fill('API key', product.rootKey);
      await visitor.press('Sign in');
      await visitor.page.getByRole('heading', { level: 1, name: 'Calls' }).waitFor();
      await visitor.press('Sign out');
      await visitor.see('Sign in with an API key of your account.');
      await visitor.close();
    },
  );

  itNeeds(['chromium'])(
    'reports a key that was revoked elsewhere, and returns to the same page after a sign-in with another key',
    AT_ONCE,
    async () => {
      const { key_id, api_key } = await product.ask('POST', '/v1/keys', { name: 'Of a former colleague' });
      const visitor = await ConsolePage.open(browser, product);
      await visitor.go('/tools');
      await visitor.fill('API key', api_key);
      await visitor.press('Sign in');
      await visitor.page.getByRole('heading', { level: 1, name: 'Tools' }).waitFor();
      await product.ask('DELETE', `/v1/keys/${key_id}`);
      await visitor.page.getByRole('link', { name: 'Phone numbers' }).click();
      await visitor.see('Your key was revoked or has expired.');
      await visitor.fill('API key', product.rootKey);
      await visitor.press('Sign in');
      await visitor.page.getByRole('heading', { level: 1, name: 'Phone numbers' }).waitFor();
      await visitor.close();
    },
  );

  itNeeds(['chromium'])(
    'reports a missing page or record, and links to the existing ones',
    AT_ONCE,
    async () => {
      const person = await ConsolePage.open(browser, product, { key: product.rootKey });
      for (const [path, title, way] of [
        ['/calls/0123456789abcdef0123456789abcdef', 'No such call', 'All calls'],
        ['/agents/0123456789abcdef0123456789abcdef', 'No such agent', 'All agents'],
        ['/nowhere', 'There is no page at this address', 'Overview'],
      ] as const) {
        await person.go(path);
        await person.page.getByRole('heading', { level: 1, name: title }).waitFor();
        await person.page.getByRole('main').getByRole('link', { name: way }).waitFor();
      }
      await person.close();
    },
  );

  itNeeds(['chromium', 'pocketsphinx_continuous'])(
    'creates an agent, and shows its call with recording, explanation and webhook',
    AT_ONCE,
    async () => {
      const person = await ConsolePage.open(browser, product, { key: product.rootKey });
      await createAgent(person);
      await talkToTheDraft(person);
      await publish(person);
      const agentId = new URL(person.page.url()).pathname.split('/')[3] ?? '';
      const { press_keys, conversation } = await product.ask('GET', `/v1/agent/agents/${agentId}/config`);
      expect([press_keys, conversation.transfer_destinations[0].extension]).toEqual([
        { enabled: true, hide_keys: false },
        ',,204#',
      ]);
      await answerForTheCall(person, await callFromTheTalkPage(agentId));
      await person.close();
    },
  );

  itNeeds(['chromium'])(
    'finds a number to buy by digits or place, and explains an incomplete area code',
    AT_ONCE,
    async () => {
      const person = await ConsolePage.open(browser, product, { key: product.rootKey, viewport: PHONE });
      await person.go('/numbers');
      await person.press('Buy a number');
      const dialog = person.page.getByRole('dialog', { name: 'Buy a number' });
      await dialog.getByText('30 numbers are offered').waitFor();
      await dialog.getByRole('region', { name: 'Numbers offered' }).waitFor();
      await dialog.getByLabel('Contains').fill('0100 017');
      await dialog.getByText('1 of the 30 numbers offered').waitFor();
      await dialog.getByRole('button', { name: 'Buy +15550100017' }).waitFor();
      await dialog.getByLabel('Contains').fill('nowhere');
      await dialog.getByText('None of the numbers offered contains that.', { exact: true }).waitFor();
      await dialog.getByLabel('Contains').fill('telephone network');
      await dialog.getByLabel('Area code').fill('41');
      await dialog.getByText('Three digits, such as 415').waitFor();
      expect([await person.overflows(), await person.seriousFindings()]).toEqual([false, []]);
      await dialog.getByLabel('Area code').fill('415');
      await dialog.getByText('No numbers are available there. Try another area code.').waitFor();
      await person.close();
    },
  );

  itNeeds(['chromium'])(
    'sets alerts about rates, says what is wrong with one, and shows what is watched once they are published',
    AT_ONCE,
    () => setAlerts(browser, product, PHONE),
  );

  itNeeds(['chromium'])(
    'says on the page of a running call that nothing is heard from the caller, until something is',
    AT_ONCE,
    async () => {
      const from = '+15551239876';
      const phone = await callSilently(product.sipAddress(), from);
      const { sessions } = await product.ask('GET', '/v1/agent/sessions?status=active,pending');
      const { session_id: sessionId } = sessions.find(
        (session: { caller_number: string }) => session.caller_number === from,
      );
      const person = await ConsolePage.open(browser, product, { key: product.rootKey, viewport: PHONE });
      await person.go(`/calls/${sessionId}`);
      await person.see('This call is in progress');
      const banner = person.page.getByRole('alert').filter({ hasText: 'Nothing is heard from the caller' });
      await banner.getByText('No packet arrived from 127.0.0.1').waitFor();
      expect([await person.overflows(), await person.seriousFindings()]).toEqual([false, []]);
      phone.send();
      await banner.waitFor({ state: 'detached' });
      await person.see('This call is in progress');
      await phone.hangUp();
      await person.close();
    },
  );

  itNeeds(['chromium'])(
    'is accessible: axe reports no serious finding on any page, light or dark, and every page fits a phone',
    { timeout: 600_000 },
    async () => {
      const findings: string[] = [];
      const person = await ConsolePage.open(browser, product, { key: product.rootKey, viewport: PHONE });
      await person.go('');
      for (const path of await everyPage(product)) {
        await person.follow(path);
        if (await person.overflows()) findings.push(`${path} is wider than a phone`);
        findings.push(...(await person.seriousFindings()).map((finding) => `${path} ${finding}`));
      }
      await person.close();
      expect(findings).toEqual([]);
    },
  );
});

describe('the first steps', () => describeFirstSteps(stage));

async function createAgent(person: ConsolePage): Promise<void> {
  await person.go('/agents');
  await person.press('New agent');
  await person.page.getByRole('dialog').getByLabel('Name').fill('Front desk');
  await person.press('Create');
  await person.page.getByRole('heading', { level: 1, name: 'Front desk' }).waitFor();
  await person.fill('System prompt', 'You answer for a restaurant.');
  await person.see('of 4000 tokens');
  await person.page.getByRole('tab', { name: 'Voice' }).click();
  const preview = person.page.waitForResponse(`${product.url}/v1/tts`);
  await person.press('Listen');
  expect((await preview).status()).toBe(200);
  await person.page.getByRole('tab', { name: 'Phone' }).click();
  await person.press('Add', person.page.getByRole('region', { name: 'Transfers' }));
  await person.page.getByRole('textbox', { name: 'Number' }).fill('+14155550123');
  await person.fill('Extension', ',,204#');
  await person.page.getByRole('switch', { name: 'Press keys' }).click();
  await person.page.getByRole('tab', { name: 'Analysis and webhooks' }).click();
  await person.press('Add', person.page.getByRole('region', { name: 'Webhooks after a call' }));
  await person.fill('Address', `${receiver.url}/calls`);
  await sendTestEvents(person);
  await person.press('Save draft');
  await person.see('Draft saved');
}

/** Leaves the form with one endpoint, as before. */
async function sendTestEvents(person: ConsolePage): Promise<void> {
  const section = person.page.getByRole('region', { name: 'Webhooks after a call' });
  const answer = section.getByText('Answered 200');
  await person.press(`Send a test event to ${receiver.url}/calls`, section);
  await answer.waitFor();
  await section.getByLabel('Address').fill(`${receiver.url}/other`);
  await answer.waitFor({ state: 'detached' });
  await person.press(`Send a test event to ${receiver.url}/other`, section);
  await answer.waitFor();
  await person.press('Add', section);
  await section.getByLabel('Address').nth(1).fill(`${receiver.url}/calls`);
  await person.press(`Remove ${receiver.url}/other`, section);
  await answer.waitFor({ state: 'detached' });
  expect(await section.getByLabel('Address').inputValue()).toBe(`${receiver.url}/calls`);
}

async function talkToTheDraft(person: ConsolePage): Promise<void> {
  await person.page.getByRole('tab', { name: 'Test call' }).click();
  await person.press('Talk');
  const transcript = person.page.getByRole('region', { name: 'Transcript' });
  await transcript.getByText(OPENING_HOURS).first().waitFor({ timeout: ASKED_MS });
  await transcript.getByText('You', { exact: true }).first().waitFor();
  await person.press('5');
  await person.press('#');
  await transcript.getByText('Keypad entry: 5').waitFor();
  await person.press('Hang up');
  await person.see('Ended: user hangup');
}

async function publish(person: ConsolePage): Promise<void> {
  await person.press('Publish…');
  const dialog = person.page.getByRole('dialog');
  await dialog.getByText('This agent was never published').waitFor();
  await person.press('Publish', dialog);
  await person.page.getByRole('tab', { name: 'Access' }).click();
  await person.page.getByLabel(/Anyone may talk to it/).click();
  await person.see('Saved');
}

/** A finished voice conversation. */
interface TalkedCall {
  readonly sessionId: string;
  /** The caller's question as finally shown on their page; interim words may differ. */
  readonly asked: string;
}

/**
 * Talks by voice until the caller hangs up. A microphone plays only once, so this caller has its own browser.
 */
async function callFromTheTalkPage(agentId: string): Promise<TalkedCall> {
  await product.ask('PATCH', `/v1/agent/agents/${agentId}`, { allowed_origins: [product.url] });
  const caller = await launchBrowser(join(folder, 'microphone.wav'));
  const visitor = await TalkPage.open(caller, product);
  await visitor.page.route('**/demo.json', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), agent_id: agentId } });
  });
  await visitor.page.reload();
  await visitor.press('Start talking');
  await visitor.line('Agent', OPENING_HOURS);
  await visitor.status('Listening');
  const asked = await visitor.said('You');
  expect(asked).toMatch(ASKED);
  const sessionId = await visitor.sessionId();
  // The caller stays silent for longer than the other setting would allow.
  await visitor.page.waitForTimeout(SILENCE_MS);
  await visitor.press('Hang up');
  await product.until(
    'the call has ended',
    async () => (await product.ask('GET', `/v1/agent/sessions/${sessionId}`)).status === 'completed',
  );
  await caller.close();
  return { sessionId, asked };
}

async function answerForTheCall(person: ConsolePage, { sessionId, asked }: TalkedCall): Promise<void> {
  await person.go('/calls');
  await person.page.locator(`a[href="/console/calls/${sessionId}"]`).click();
  await person.page.getByRole('heading', { level: 1, name: 'Web visitor with Front desk' }).waitFor();
  const transcript = person.page.getByRole('list', { name: 'Transcript' });
  await transcript.getByText(asked).first().waitFor();
  await person.page
    .getByRole('img', { name: /Model’s first word|Waited for the caller|Voice/ })
    .first()
    .waitFor();
  const position = person.page.getByRole('slider', { name: 'Position in the recording' });
  expect(Number(await position.getAttribute('aria-valuemax'))).toBeGreaterThan(5);
  await transcript.getByRole('button', { name: new RegExp(OPENING_HOURS) }).click();
  await person.page.getByRole('button', { name: 'Pause' }).waitFor();
  await transcript.locator('[aria-current="true"]').waitFor();
  await openByLink(person);
  const replay = person.page.getByRole('region', { name: 'Replay with other settings' });
  await replay.getByLabel('Hang up after silence of').fill('10');
  await person.press('Replay', replay);
  await replay.getByText(/the call would have been different/).waitFor();
  await transcript
    .getByText('With the other settings the call would have been different from here on')
    .waitFor();
  await person.page.getByRole('list', { name: 'Audible events' }).getByText('Other settings').waitFor();
  await exportTheCall(person);
  await makeATest(person);
  const deliveries = person.page.getByRole('region', { name: 'Webhook deliveries' });
  await deliveries.getByText('call.ended').waitFor();
  await deliveries.getByText('Delivered').first().waitFor();
  const before = receiver.received.length;
  await person.press('Send again: call.ended');
  await product.until('the webhook came once more', () => receiver.received.length > before);
}

/** The call in a file, which verifies. */
async function exportTheCall(person: ConsolePage): Promise<void> {
  await person.press('Export');
  const dialog = person.page.getByRole('dialog');
  await dialog.getByLabel('Phone numbers and metadata').check();
  const download = person.page.waitForEvent('download');
  await person.press('Download', dialog);
  const split = splitCallFile(await readFile(await (await download).path(), 'utf8'));
  const file = split && (await readCallFile(split));
  expect([file?.problems, file?.chain?.missing]).toEqual([[], []]);
  await dialog.waitFor({ state: 'detached' });
}

/** A voice test of the call, which expects the call of a tool. */
async function makeATest(person: ConsolePage): Promise<void> {
  await person.press('Make a test');
  const dialog = person.page.getByRole('dialog');
  await dialog.getByLabel('What must not happen again').click();
  await person.page.getByRole('option', { name: 'It did not call a tool' }).click();
  await dialog.getByLabel('Function name of the tool').fill('book_table');
  const download = person.page.waitForEvent('download');
  await person.press('Download', dialog);
  const file = JSON.parse(await readFile(await (await download).path(), 'utf8'));
  expect(voiceTest.parse(file).expect.tools).toEqual([{ name: 'book_table', called: true }]);
  await dialog.waitFor({ state: 'detached' });
}

/** Links to a turn and to a second open the transcript at that point. */
async function openByLink(person: ConsolePage): Promise<void> {
  const { page } = person;
  const current = page.getByRole('list', { name: 'Transcript' }).locator('[aria-current="true"]');
  const address = page.url();
  const turn = page.getByRole('link', { name: /^Turn \d+ in the transcript$/ }).first();
  await page.goto(new URL((await turn.getAttribute('href')) ?? '', address).href);
  await current.filter({ hasText: 'Caller' }).waitFor();
  await page.getByRole('slider', { name: 'Position in the recording' }).waitFor();
  await vi.waitFor(
    async () => expect(await page.getByRole('slider').getAttribute('aria-valuenow')).not.toBe('0'),
    {
      timeout: 30_000,
    },
  );
  await page.goto(`${address}?t=600`);
  await current.waitFor();
  expect(await current.textContent()).toBe(
    await page.getByRole('list', { name: 'Transcript' }).locator('.line').last().textContent(),
  );
}
