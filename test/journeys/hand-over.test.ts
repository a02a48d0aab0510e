/** Journey: workers are stopped during calls, as in a deploy; another worker continues each call. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { itNeeds } from '#test/needs.ts';
import { ASKED_AND_ANSWERED, callAndListen, callSoFar } from './asked-by-phone.ts';
import { Parts } from './parts.ts';
import type { Program } from './program.ts';
import { launchBrowser, TalkPage } from './talk-page.ts';
import { greetWith } from './tenant.ts';
import { GREETING, OPENING_HOURS } from './web-conversation.ts';

const GREETED = `assistant: ${GREETING}`;
const ENDED = { status: 'completed', end_reason: 'user_hangup' };

let parts: Parts;
let worker: Program;

beforeAll(async () => {
  parts = await Parts.open({ RTP_PORT_MIN: '39400', RTP_PORT_MAX: '39599' });
  [, , worker] = await Promise.all([
    parts.start('control-plane', 'control-plane'),
    parts.start('signalling', 'signalling'),
    parts.start('worker', 'first'),
  ]);
  await greetWith(parts, GREETING);
}, 120_000);
afterAll(() => parts.close());

it('a stopped worker hands a phone call over between two turns, and nobody says so', {
  timeout: 120_000,
}, async () => {
  const phone = await callAndListen(parts, '+15557650001');
  await phone.ask();
  await replaceWorker('second');
  expect((await phone.call()).status).toBe('active');
  await phone.ask();
  await phone.hangUp();
  // To the phone, both workers are one source of one stream.
  expect(new Set(phone.packets.map(({ ssrc }) => ssrc)).size).toBe(1);
  const numbers = phone.packets.map(({ sequence }) => sequence);
  expect(numbers.filter((number, index) => isRepeated(number, numbers[index - 1]))).toEqual([]);
  await parts.until('the call is settled', async () => (await phone.call()).status === 'completed');
  expect(await phone.call()).toEqual({
    ...ENDED,
    said: [GREETED, ...ASKED_AND_ANSWERED, ...ASKED_AND_ANSWERED],
  });
});

itNeeds(['chromium'])(
  'a stopped worker hands the call of a browser over, which connects to the next one by itself',
  { timeout: 120_000 },
  async () => {
    const browser = await launchBrowser();
    try {
      const visitor = await TalkPage.open(browser, parts);
      await greeted(visitor);
      await replaceWorker('third');
      await asksInWriting(visitor);
      const sessionId = await visitor.sessionId();
      await visitor.press('Hang up');
      const call = () => callSoFar(parts, sessionId);
      await parts.until('the call is settled', async () => (await call()).status === 'completed');
      expect(await call()).toEqual({
        ...ENDED,
        said: [GREETED, expect.stringContaining('opening hours'), expect.stringContaining(OPENING_HOURS)],
      });
    } finally {
      await browser.close();
    }
  },
);

/** Sequence numbers wrap around. */
function isRepeated(number: number, before: number | undefined): boolean {
  return before !== undefined && ((number - before) << 16) >> 16 <= 0;
}

/** Starts the next worker and stops the present one as a deploy does. */
async function replaceWorker(name: string): Promise<void> {
  const successor = await parts.start('worker', name);
  await parts.stop(worker);
  worker = successor;
}

async function greeted(visitor: TalkPage): Promise<void> {
  await visitor.press('Type instead');
  await visitor.line('Agent', GREETING);
  await visitor.status('Listening');
}

async function asksInWriting(visitor: TalkPage): Promise<void> {
  await visitor.type('What are your opening hours?');
  await visitor.line('Agent', OPENING_HOURS);
  await visitor.status('Listening');
}
