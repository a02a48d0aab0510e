/** Journey: a worker is stopped during calls, as in a deploy; another worker continues each call. */
import { afterAll, beforeAll, expect } from 'vitest';
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

itNeeds(['chromium'])(
  'a stopped worker hands a phone call and that of a browser over between two turns, and nobody says so',
  { timeout: 120_000 },
  async () => {
    const browser = await launchBrowser();
    try {
      const [phone, visitor] = await Promise.all([
        callAndListen(parts, '+15557650001'),
        TalkPage.open(browser, parts),
      ]);
      await Promise.all([phone.ask(), greeted(visitor)]);
      await parts.start('worker', 'second');
      await parts.stop(worker);
      expect((await phone.call()).status).toBe('active');
      await Promise.all([phone.ask(), asksInWriting(visitor)]);
      const sessionId = await visitor.sessionId();
      await Promise.all([phone.hangUp(), visitor.press('Hang up')]);
      const calls = async () => [await phone.call(), await callSoFar(parts, sessionId)];
      await parts.until('the calls are settled', async () =>
        (await calls()).every(({ status }) => status === 'completed'),
      );
      expect(await calls()).toEqual([
        { ...ENDED, said: [GREETED, ...ASKED_AND_ANSWERED, ...ASKED_AND_ANSWERED] },
        {
          ...ENDED,
          said: [GREETED, expect.stringContaining('opening hours'), expect.stringContaining(OPENING_HOURS)],
        },
      ]);
    } finally {
      await browser.close();
    }
  },
);

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
