/** Journey: workers are stopped during calls, as in a deploy; another worker continues each call. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SceneFile } from '#caller/scene.ts';
import { itNeeds } from '#test/needs.ts';
import { Parts } from './parts.ts';
import type { Program } from './program.ts';
import { launchBrowser, TalkPage } from './talk-page.ts';
import { GREETING, OPENING_HOURS } from './web-conversation.ts';

const PORTS = { first: 41_800, last: 41_849 };
const ASK: SceneFile['steps'] = [
  { do: 'say', text: 'What are your opening hours?' },
  { do: 'listen', quiet_ms: 1_500 },
];
const GREETED = expect.stringMatching(/^assistant: Hello, this is the Parley demo/);
const ASKED_AND_ANSWERED = [
  'user: what are your opening hours',
  expect.stringMatching(/^assistant: We are open every day/),
];

let parts: Parts;
let worker: Program;

beforeAll(async () => {
  parts = await Parts.open({ RTP_PORT_MIN: '39400', RTP_PORT_MAX: '39599' });
  await parts.start('control-plane', 'control-plane');
  await parts.start('signalling', 'signalling');
  worker = await parts.start('worker', 'first');
}, 120_000);
afterAll(() => parts.close());

it('a stopped worker hands its phone call over between two turns, and nobody says so', {
  timeout: 120_000,
}, async () => {
  const calling = parts.call(PORTS, [{ do: 'listen' }, ...ASK, { do: 'pause', ms: 8_000 }, ...ASK]);
  await parts.until('the question is answered', async () => (await newest())?.said.length === 3);
  const successor = await parts.start('worker', 'second');
  await parts.stop(worker);
  worker = successor;
  expect((await newest())?.status).toBe('active');

  expect((await calling).outcome).toEqual({ type: 'answered', endedBy: 'caller' });
  await parts.until('the call is settled', async () => (await newest())?.status === 'completed');
  expect(await newest()).toMatchObject({
    end_reason: 'user_hangup',
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
      await visitor.press('Type instead');
      await visitor.line('Agent', GREETING);
      const successor = await parts.start('worker', 'third');
      await parts.stop(worker);
      worker = successor;
      await visitor.type('What are your opening hours?');
      await visitor.line('Agent', OPENING_HOURS);
      await visitor.press('Hang up');
      await parts.until('the call is settled', async () => (await newest())?.status === 'completed');
      expect(await newest()).toMatchObject({
        end_reason: 'user_hangup',
        said: [GREETED, expect.stringContaining('opening hours'), expect.stringContaining(OPENING_HOURS)],
      });
    } finally {
      await browser.close();
    }
  },
);

async function newest() {
  return (await parts.sessions())[0];
}
