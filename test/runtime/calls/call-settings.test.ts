import { describe, expect, it } from 'vitest';
import type { RecognitionOptions, Recognizer } from '#media/speech/speech.ts';
import { testPlan } from '../test-plan.ts';
import { FIXED, setUp } from './test-call.ts';

describe('keypad menu', () => {
  const MENU = {
    enabled: true,
    prompt: 'Press 1 for sales.',
    options: [{ key: '1', label: 'sales', value: 'the sales desk' }],
    variable: 'desk',
  };
  const planWithMenu = (menu: object) =>
    testPlan({
      prompt: {
        first_message_mode: 'fixed',
        first_message: 'This is {{desk}}.',
        system_prompt: 'You are {{desk}}.',
      },
      conversation: { keypad_menu: { ...MENU, ...menu } },
    });

  it('passes the choice to the first message, the system prompt and the tool variables', async () => {
    const { openLeg, run, world, messages, requests, toolVariables } = setUp(planWithMenu({}));
    const leg = openLeg();
    await run(510);
    leg.emit({ type: 'digit', atMs: world.now(), digit: '1', durationMs: 100, source: 'rfc4733' });
    await run(3_000);
    leg.emit({ type: 'message', atMs: world.now(), text: '{"type":"user.message","text":"hi"}' });
    await run(3_000);
    expect(messages().slice(0, 3)).toEqual([
      'user: Keypad entry: 1',
      'assistant: Press 1',
      'assistant: This is the sales desk.',
    ]);
    expect(requests[0]?.messages[0]?.content).toContain('You are the sales desk.');
    expect(toolVariables()).toEqual({ name: 'Ann', desk: 'the sales desk' });
  });

  it('uses the fallback when the caller presses nothing', async () => {
    const { openLeg, run, messages } = setUp(
      planWithMenu({ max_attempts: 1, no_input_timeout_seconds: 1, fallback_value: 'the front desk' }),
    );
    openLeg();
    await run(4_000);
    expect(messages()).toEqual(['assistant: Press 1 for sales.', 'assistant: This is the front desk.']);
  });

  it.each(['web_voice', 'phone_outbound'] as const)('is not played on %s', async (channel) => {
    const { openLeg, run, messages } = setUp({ ...planWithMenu({}), channel });
    openLeg();
    await run(6_000);
    expect(messages()).toEqual(['assistant: This is {{desk}}.']);
  });
});

describe('voice.expressive', () => {
  it.each([
    [true, ['happy']],
    [false, [null]],
  ])('%s: the voice receives %j, and the timeline only the words', async (expressive, expected) => {
    const prompt = { first_message_mode: 'fixed', first_message: '[happy] Welcome back!' };
    const { openLeg, run, messages, emotions } = setUp(testPlan({ prompt, voice: { expressive } }));
    openLeg();
    await run(3_000);
    expect(emotions).toEqual(expected);
    expect(messages()).toEqual(['assistant: Welcome back!']);
  });
});

it.each([
  ['default', null],
  ['v'.repeat(256), 'v'.repeat(256)],
])('voice.voice_id %s selects the voice of the agent', async (voice_id, voice) => {
  const { openLeg, run, voices } = setUp(testPlan({ prompt: FIXED.prompt, voice: { voice_id } }));
  openLeg();
  await run(3_000);
  expect(voices).toEqual([voice]);
});

/** A recogniser that emits the test's words and records its options. */
function listening(opened: RecognitionOptions[]): Recognizer {
  return {
    id: 'test',
    givesInterims: true,
    expectedFinalMs: 100,
    open: (options) => {
      opened.push(options);
      return { write: () => undefined, finalise: () => undefined, close: () => undefined };
    },
  };
}

it.each([0, 50])('asr.keyterms: the recogniser receives %i of them', async (count) => {
  const opened: RecognitionOptions[] = [];
  const keyterms = Array.from({ length: count }, (_, index) => `term ${index}`);
  const { openLeg, run } = setUp(testPlan({ asr: { keyterms } }), null, listening(opened));
  openLeg();
  await run(100);
  expect(opened).toMatchObject([{ keyterms }]);
});

describe('asr.strict_language', () => {
  it.each([
    [true, false, 'fr', 'user: [unintelligible speech]'],
    [true, true, 'fr', 'user: [unintelligible speech]'],
    [true, false, 'en-GB', 'user: bonjour'],
    [true, false, null, 'user: bonjour'],
    [false, false, 'fr', 'user: bonjour'],
  ])('strict %s, multilingual %s, an utterance recognised as %s reaches the agent as %s', async (...row) => {
    const [strict_language, multilingual, language, words] = row;
    const opened: RecognitionOptions[] = [];
    const plan = testPlan({
      prompt: { first_message_mode: 'off' },
      asr: { strict_language, multilingual, keyterms: ['Parley'] },
    });
    const { openLeg, run, requests } = setUp(plan, null, listening(opened));
    openLeg();
    await run(100);
    opened[0]?.onEvent({ type: 'final', text: 'bonjour', startMs: null, endMs: null, language });
    await run(3_000);
    expect(opened).toMatchObject([
      { language: 'en', multilingual: strict_language || multilingual, keyterms: ['Parley'] },
    ]);
    expect(
      requests[0]?.messages.filter(({ role }) => role === 'user').map(({ content }) => `user: ${content}`),
    ).toEqual([words]);
  });

  it('words in an unknown language never become a turn', async () => {
    const opened: RecognitionOptions[] = [];
    const hear: RecognitionOptions['onEvent'] = (event) => opened[0]?.onEvent(event);
    const plan = testPlan({ prompt: { first_message_mode: 'off' }, asr: { strict_language: true } });
    const { openLeg, run, requests, world } = setUp(plan, null, listening(opened));
    const leg = openLeg();
    await run(100);
    leg.emit({ type: 'voice.onset', atMs: world.now(), decidedAtMs: world.now() });
    hear({ type: 'interim', text: 'bonjour' });
    await run(500);
    leg.emit({ type: 'voice.offset', atMs: world.now(), decidedAtMs: world.now(), voicedMs: 500 });
    await run(5_000);
    expect(
      requests.flatMap(({ messages }) =>
        messages.filter(({ role, content }) => role === 'user' && content.includes('bonjour')),
      ),
    ).toEqual([]);
    hear({ type: 'final', text: 'bonjour', startMs: null, endMs: null, language: 'fr' });
    await run(3_000);
    expect(requests.at(-1)?.messages.at(-1)).toMatchObject({
      role: 'user',
      content: '[unintelligible speech]',
    });
  });
});
