/**
 * Journey: a person writes with an agent in the console, with the keyboard only and on a phone, also while
 * the product restarts. A guest moves from text messages to a call and back, and the console leads from each
 * to the next. Then the agent is tuned on its calls, and given speech servers of its owner.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import {
  type ChatBody,
  type ChatScript,
  callTool,
  type OpenaiServer,
  say,
  startOpenaiServer,
} from '#test/fakes/openai-server.ts';
import {
  offeredNumber,
  signTwilioRequest,
  startTwilioServer,
  TWILIO_ACCOUNT,
  type TwilioServer,
} from '#test/fakes/twilio-server.ts';
import { openWebhookReceiver, type WebhookReceiver } from '#test/fakes/webhook-receiver.ts';
import { describeNeeds, has, itNeeds } from '#test/needs.ts';
import { ConsolePage } from './console-page.ts';
import { type Product, startProduct } from './product.ts';
import { describeRehearsePage } from './rehearse-page.ts';
import { callSilently } from './silent-phone.ts';
import { launchBrowser } from './talk-page.ts';
import { describeTuningPage } from './tuning-page.ts';

const NEEDED = ['chromium'];
const PATIENCE = { timeout: 240_000 };
const PHONE = { width: 360, height: 740 };
const PUBLIC_URL = 'https://voice.example.com';
const NUMBER = '+14155550101';
const PERSON = '+14155550111';
/** Of the agent that is tuned. */
const OTHER_NUMBER = '+14155550102';
/** Of the agent whose draft is rehearsed. */
const SECOND_NUMBER = '+14155550103';
const HOURS = 'We open at eight in the morning and close at six in the evening.';
/** The same, from the agent whose prompt says so. */
const BRIEF = 'Eight to six.';
const FREE = 'There is a table for two.';
/** Slow enough to be seen while it is written, and to be cut in its middle. */
const PIECE_MS = 150;

const stage = { number: OTHER_NUMBER, secondNumber: SECOND_NUMBER } as {
  product: Product;
  browser: Browser;
  number: string;
  secondNumber: string;
};
let product: Product;
let browser: Browser;
let vendor: OpenaiServer;
let twilio: TwilioServer;
let receiver: WebhookReceiver;
let agentId: string;
/** The model refuses every message. */
let isRefusing = false;

function answer({ messages, tools }: ChatBody): ChatScript {
  if (isRefusing) return { refusal: 400, pieces: [], toolCalls: [] };
  if (String(messages[0]?.content).includes('You judge a test'))
    return say(judgement(String(messages.at(-1)?.content)));
  const last = messages.at(-1);
  if (last?.role === 'tool') return say(FREE);
  const offered = /"name":"(find_\w+)"/.exec(JSON.stringify(tools ?? []))?.[1];
  if (offered !== undefined && String(last?.content).includes('table'))
    return callTool(offered, { guests: 2 });
  return say(String(messages[0]?.content).includes('You answer, briefly.') ? BRIEF : HOURS);
}

/** The answer of the draft, which stands for its prompt, is better wherever it stands. */
function judgement(shown: string): string {
  const [call = '', first = ''] = [shown, shown.split('<first_answer>')[1]];
  const result = !call.includes(BRIEF)
    ? 'same'
    : first.split('</first_answer>')[0]?.includes(BRIEF)
      ? 'first'
      : 'second';
  return JSON.stringify({ result, reason: 'It names the hours.' });
}

beforeAll(async () => {
  [vendor, twilio, receiver] = await Promise.all([
    startOpenaiServer({ chat: answer, pieceMs: PIECE_MS, transcripts: ['When do you open?'] }),
    startTwilioServer(),
    openWebhookReceiver(),
  ]);
  twilio.available.push(offeredNumber(NUMBER), offeredNumber(OTHER_NUMBER), offeredNumber(SECOND_NUMBER));
  receiver.answer = () => ({ status: 200, body: '{"free": true}' });
  product = await startProduct({
    environment: {
      PUBLIC_URL,
      OPENAI_BASE_URL: vendor.url,
      ASR_PROVIDER: 'openai',
      LLM_DEFAULT: 'openai/test-model',
      TWILIO_ACCOUNT_SID: TWILIO_ACCOUNT.accountSid,
      TWILIO_AUTH_TOKEN: TWILIO_ACCOUNT.authToken,
      TWILIO_BASE_URL: twilio.url,
    },
  });
  agentId = await createAgent();
  if (has(NEEDED)) browser = await launchBrowser();
  Object.assign(stage, { product, browser });
});
afterAll(async () => {
  await browser?.close();
  await product?.close();
  await vendor?.close();
  await twilio?.close();
  await receiver?.close();
});

/** A published agent with a tool. */
async function createAgent(): Promise<string> {
  const { tool_id } = await product.ask('POST', '/v1/agent/tools', {
    name: 'find_table',
    description: 'Looks for a free table.',
    url: `${receiver.url}/tables`,
    arguments: [{ name: 'guests', description: 'How many come' }],
    body_template: '{"guests": "{{guests}}"}',
  });
  const { agent_id } = await product.ask('POST', '/v1/agent/agents', {
    name: 'Bakery',
    config: {
      prompt: {
        system_prompt: 'You answer for a bakery.',
        first_message_mode: 'fixed',
        first_message: 'Hi!',
      },
      tools: { tool_ids: [tool_id] },
    },
  });
  await product.ask('POST', `/v1/agent/agents/${agent_id}/publish`);
  return agent_id;
}

const open = () => ConsolePage.open(browser, product, { key: product.rootKey, viewport: PHONE });
const log = ({ page }: ConsolePage) => page.getByRole('log', { name: 'Messages' });
const field = (page: Page) => page.getByRole('textbox', { name: 'Message', exact: true });
/** The page fits a phone and has no serious finding of axe. */
const expectSound = async (person: ConsolePage) =>
  expect([await person.overflows(), await person.seriousFindings()]).toEqual([false, []]);
const focusedLabel = ({ page }: ConsolePage) =>
  page.evaluate("document.activeElement?.getAttribute('aria-label')");
const focusedText = ({ page }: ConsolePage) => page.evaluate('document.activeElement?.textContent');
const idOf = (person: ConsolePage) => new URL(person.page.url()).searchParams.get('session') ?? '';

/** Begins a conversation with a message of the person. */
async function beginWith(person: ConsolePage, message: string): Promise<void> {
  await person.go(`/agents/${agentId}/write`);
  await person.press('Write first');
  await write(person, message);
}

async function write(person: ConsolePage, message: string): Promise<void> {
  await field(person.page).fill(message);
  await field(person.page).press('Enter');
}

describeNeeds(NEEDED)('a conversation in writing on an agent’s page', () => {
  itNeeds(NEEDED)(
    'is begun, led and ended with the keyboard only, and shows each answer while it is written',
    PATIENCE,
    async () => {
      const person = await open();
      const { keyboard } = person.page;
      await person.go(`/agents/${agentId}/write`);
      await person.page.getByRole('button', { name: 'Write first' }).press('Enter');
      await field(person.page).waitFor();
      // The field has the focus as soon as a message can be sent.
      await expect.poll(() => focusedLabel(person)).toBe('Message');
      await keyboard.type('When do you open?');
      await keyboard.press('Enter');
      await log(person).getByText('Agent is writing…').waitFor();
      await log(person).getByText('We open at').first().waitFor();
      await expectSound(person);
      await log(person).getByText(HOURS).waitFor();
      await keyboard.type('A table for two, please.');
      await keyboard.press('Enter');
      await log(person).getByText('find_table').first().waitFor();
      await log(person).getByText(FREE).waitFor();
      await person.page.getByRole('button', { name: 'End conversation' }).press('Enter');
      await person.see('The conversation has ended');
      await expect.poll(() => focusedText(person)).toBe('Start another');
      await expectSound(person);
      await person.page.getByRole('link', { name: 'Its record' }).press('Enter');
      await person.page.getByRole('heading', { level: 1, name: 'Trial with Bakery' }).waitFor();
      await person.see('$0.02');
      await person.see('Ended by: the client');
      await person.page.getByRole('list', { name: 'Conversation' }).getByText(FREE).waitFor();
      await expectSound(person);
      await person.close();
    },
  );

  itNeeds(NEEDED)(
    'reconnects when the product restarts in the middle of an answer, which comes once and costs once',
    PATIENCE,
    async () => {
      const person = await open();
      await beginWith(person, 'When do you open?');
      await log(person).getByText('We open at').first().waitFor();
      product.kill('control-plane');
      await log(person).getByText('The connection broke. Reconnecting…').waitFor();
      await log(person).getByText(HOURS).waitFor();
      await log(person).getByText('Agent is writing…').waitFor({ state: 'detached' });
      expect(await log(person).getByText(HOURS).count()).toBe(1);
      const path = `/v1/agent/text-sessions/${idOf(person)}`;
      expect(await product.ask('GET', path)).toMatchObject({ message_count: 1, cost: '0.01' });
      await person.close();
    },
  );

  itNeeds(NEEDED)(
    'goes on after the page was loaded again, and says when it was ended elsewhere',
    PATIENCE,
    async () => {
      const person = await open();
      await beginWith(person, 'When do you open?');
      await log(person).getByText(HOURS).waitFor();
      await person.page.reload();
      await log(person).getByText(HOURS).waitFor();
      await write(person, 'A table for two, please.');
      await log(person).getByText(FREE).waitFor();
      await product.ask('POST', `/v1/agent/text-sessions/${idOf(person)}/end`);
      await person.see('The conversation has ended');
      expect(await field(person.page).isDisabled()).toBe(true);
      await person.press('Start another');
      await person.page.getByRole('button', { name: 'Let the agent begin' }).click();
      await log(person).getByText('Hi!').waitFor();
      await person.close();
    },
  );

  itNeeds(NEEDED)('says why a message got no answer, and sends it again', PATIENCE, async () => {
    const person = await open();
    isRefusing = true;
    await beginWith(person, 'When do you open?');
    const problem = person.page.getByRole('alert').filter({ hasText: 'A message got no answer' });
    await problem.getByText('“When do you open?”').waitFor();
    await expectSound(person);
    isRefusing = false;
    await person.press('Send again', problem);
    await log(person).getByText(HOURS).waitFor();
    await problem.waitFor({ state: 'detached' });
    await expect.poll(() => focusedLabel(person)).toBe('Message');
    await person.close();
  });

  itNeeds(NEEDED)('is not offered for an agent that was never published', PATIENCE, async () => {
    const { agent_id } = await product.ask('POST', '/v1/agent/agents', { name: 'Draft only' });
    const person = await open();
    await person.go(`/agents/${agent_id}/write`);
    await person.see('Only a published agent answers in writing.');
    expect(await person.page.getByRole('button', { name: 'Write first' }).isDisabled()).toBe(true);
    await person.close();
  });
});

describeNeeds(NEEDED)('a guest who moves from text messages to a call and back', () => {
  itNeeds(NEEDED)('is found by the number, and each record leads to the next', PATIENCE, async () => {
    await bindNumber();
    await arrives('When do you open?');
    await product.until('the first message is answered', () => twilio.messages.length === 1);
    const phone = await callSilently(product.sipAddress(NUMBER), PERSON);
    await phone.hangUp();
    await product.until('the call has ended', async () => (await callsOf()).at(0)?.status === 'completed');
    const [first] = await textsOf();
    await product.ask('POST', `/v1/agent/text-sessions/${first?.text_session_id}/end`);
    await arrives('Are you there?');
    await product.until('the second message is answered', () => twilio.messages.length === 2);

    const person = await open();
    await person.go(`/text-sessions?caller_number=${encodeURIComponent(PERSON)}`);
    const rows = person.page.getByRole('link', { name: PERSON });
    await expect.poll(() => rows.count()).toBe(2);
    await expectSound(person);
    await rows.last().click();
    const around = person.page.getByRole('region', { name: 'Before and after' });
    await person.see('SMS');
    await expectSound(person);
    await around
      .getByText('After it:')
      .getByRole('link', { name: /^the call of/ })
      .click();
    await person.page.getByRole('heading', { level: 2, name: 'Transcript' }).waitFor();
    await around
      .getByText('Before it:')
      .getByRole('link', { name: /^the text session of/ })
      .waitFor();
    await expectSound(person);
    await around
      .getByText('After it:')
      .getByRole('link', { name: /^the text session of/ })
      .click();
    const conversation = person.page.getByRole('list', { name: 'Conversation' });
    await conversation.getByText('Are you there?').waitFor();
    await around
      .getByText('Before it:')
      .getByRole('link', { name: /^the call of/ })
      .waitFor();
    await person.close();
  });

  /** Has the agent answer the calls and the messages of a number. */
  async function bindNumber(): Promise<void> {
    const { phone_number_id } = await product.ask('POST', '/v1/agent/phone-numbers', {
      provider: 'managed',
      phone_number: NUMBER,
      agent_id: agentId,
    });
    await product.ask('PATCH', `/v1/agent/phone-numbers/${phone_number_id}`, { sms: { agent_id: agentId } });
  }

  /** Twilio delivers a message of the person. */
  async function arrives(text: string): Promise<void> {
    const sid = `SM${Buffer.from(text).toString('hex').slice(0, 32).padEnd(32, '0')}`;
    const form = { MessageSid: sid, From: PERSON, To: NUMBER, Body: text, NumMedia: '0' };
    const response = await fetch(`${product.url}/carriers/message`, {
      method: 'POST',
      headers: { 'x-twilio-signature': signTwilioRequest(`${PUBLIC_URL}/carriers/message`, form) },
      body: new URLSearchParams(form),
    });
    expect(response.status).toBe(200);
  }

  const query = `caller_number=${encodeURIComponent(PERSON)}`;
  const callsOf = async (): Promise<{ status: string }[]> =>
    (await product.ask('GET', `/v1/agent/sessions?${query}`)).sessions;
  const textsOf = async (): Promise<{ text_session_id: string }[]> =>
    (await product.ask('GET', `/v1/agent/text-sessions?${query}`)).text_sessions;
});

describe('the settings of an agent', () => {
  describeTuningPage(stage);
  describeRehearsePage(stage);
});
