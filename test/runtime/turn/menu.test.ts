import { describe, expect, it } from 'vitest';
import type { TurnConfig } from '#runtime/turn/machine/turn-config.ts';
import { type KeypadMenu, optionOfWords } from '#runtime/turn/text/keypad.ts';
import { TurnScript } from './turn-script.ts';

const MENU: KeypadMenu = {
  prompt: 'Press 1 for sales, or 2 for support.',
  retryMessage: 'Sorry, I did not get that.',
  options: [
    { key: '1', label: 'sales', value: 'the sales desk' },
    { key: '2', label: 'support, technical support', value: 'the support desk' },
  ],
  acceptsSpeech: true,
  variable: 'desk',
  noInputMs: 5_000,
  maxAttempts: 2,
  fallbackValue: 'the front desk',
};
const GREETING = { mode: 'say', text: 'Hello from {{desk}}.' } as const;

/** A connected call that plays its menu. */
function menuCall(changes: Partial<KeypadMenu> = {}, config: Partial<TurnConfig> = {}): TurnScript {
  const script = new TurnScript({ menu: { ...MENU, ...changes }, greeting: GREETING, ...config });
  return script.take(
    { type: 'call.started' },
    { type: 'call.connected' },
    { type: 'playout.started', replyId: 'r1', wireMs: script.nowMs },
  );
}

/** A connected call with the prompt played to its end. */
function asked(changes: Partial<KeypadMenu> = {}): TurnScript {
  return menuCall(changes).after(3_000).take({ type: 'playout.finished', replyId: 'r1', heard: MENU.prompt });
}

const said = (script: TurnScript) => script.all('say').map(({ text }) => text);
const chosen = (script: TurnScript) => script.all('setVariable').map(({ name, value }) => [name, value]);
/** The loop's answer to `setVariable`: the texts with the value inserted. */
const rendered = (script: TurnScript) =>
  script.take({
    type: 'variables.changed',
    greeting: { mode: 'say', text: `Hello from ${script.last('setVariable')?.value}.` },
    hangUpFarewell: { mode: 'generated', message: '' },
    transfer: null,
  });

describe('keypad menu', () => {
  it('is prepared during ringing and played before the greeting', () => {
    const script = new TurnScript({ menu: MENU, greeting: GREETING }).take({ type: 'call.started' });
    expect(said(script)).toEqual([MENU.prompt]);
    expect(script.all('play')).toHaveLength(0);
    script.take({ type: 'call.connected' });
    expect(script.all('play').map(({ replyId }) => replyId)).toEqual(['r1']);
  });

  it('stops the prompt on a key, sets the variable, and the greeting names the choice', () => {
    const script = menuCall().after(800).take({ type: 'digit.pressed', digit: '2' });
    expect(script.all('clear')).toHaveLength(1);
    expect(chosen(script)).toEqual([['desk', 'the support desk']]);
    rendered(script);
    expect(said(script)).toEqual([MENU.prompt]);
    script.take({ type: 'playout.cleared', replyId: 'r1', heard: 'Press 1 for', isExact: true });
    expect(said(script)).toEqual([MENU.prompt, 'Hello from the support desk.']);
    expect(script.timeline()).toEqual(['user: Keypad entry: 2', 'assistant: Press 1 for']);
    expect(script.state.phase.is).toBe('speaking');
  });

  it('continues when the leg never reports what was heard of the prompt', () => {
    const script = rendered(menuCall().take({ type: 'digit.pressed', digit: '1' })).after(600);
    expect(said(script).at(-1)).toBe('Hello from the sales desk.');
  });

  it('stops the prompt on any other key too, which costs an attempt', () => {
    const script = menuCall().take(
      { type: 'digit.pressed', digit: '9' },
      { type: 'playout.cleared', replyId: 'r1', heard: 'Press', isExact: true },
    );
    expect(said(script).at(-1)).toBe(`${MENU.retryMessage} ${MENU.prompt}`);
    script.take({ type: 'digit.pressed', digit: '9' });
    expect(chosen(script)).toEqual([['desk', 'the front desk']]);
  });

  it.each([1_000, 5_000, 30_000])(
    'repeats the prompt no_input_timeout_seconds = %i ms after its end without input',
    (noInputMs) => {
      const script = asked({ noInputMs });
      const endMs = script.nowMs;
      script.after(noInputMs);
      expect(script.all('play').map(({ atMs }) => atMs)).toEqual([0, endMs + noInputMs]);
    },
  );

  it('repeats only the prompt when there is no retry message', () => {
    expect(said(asked({ retryMessage: '' }).after(5_000))).toEqual([MENU.prompt, MENU.prompt]);
  });

  it.each([1, 2, 5])('sets the fallback after max_attempts = %i and continues the call', (maxAttempts) => {
    const script = asked({ maxAttempts });
    for (let attempt = 1; attempt < maxAttempts; attempt++)
      script.after(5_000).take({ type: 'playout.finished', replyId: `r${attempt + 1}`, heard: MENU.prompt });
    expect(script.all('play')).toHaveLength(maxAttempts);
    rendered(script.after(5_000));
    expect(chosen(script)).toEqual([['desk', 'the front desk']]);
    expect(said(script).at(-1)).toBe('Hello from the front desk.');
  });

  it('accepts a spoken option; the words that follow are not a turn', () => {
    const script = asked().voice(500).take({ type: 'transcript.interim', text: 'sales please' });
    expect(chosen(script)).toEqual([['desk', 'the sales desk']]);
    rendered(script).take({ type: 'transcript.final', text: 'Sales please.' }).after(5_000);
    expect(script.all('generate')).toHaveLength(0);
    expect(script.timeline()).toContain('user: sales please');
  });

  it('accepts an option spoken over the prompt once it is final, and never the prompt’s echo', () => {
    const script = menuCall().take({ type: 'transcript.interim', text: 'support' });
    expect(chosen(script)).toEqual([]);
    script.take({ type: 'transcript.final', text: 'Press 1 for sales' });
    expect(chosen(script)).toEqual([]);
    script.take({ type: 'transcript.final', text: 'Support.' });
    expect(chosen(script)).toEqual([['desk', 'the support desk']]);
  });

  it('ignores words with accept_speech off', () => {
    const script = asked({ acceptsSpeech: false })
      .voice(500)
      .take({ type: 'transcript.final', text: 'sales' });
    expect(chosen(script)).toEqual([]);
  });

  it('does not time out while the caller is speaking', () => {
    const script = asked().after(4_900).take({ type: 'voice.started', speechStartMs: 0 }).after(3_000);
    expect(script.all('play')).toHaveLength(1);
  });

  it('ends with the call when the caller hangs up', () => {
    const script = menuCall().take(
      { type: 'leg.closed', reason: 'remote' },
      { type: 'playout.cleared', replyId: 'r1', heard: '', isExact: true },
    );
    expect(script.last('hangUp')?.reason).toBe('user_hangup');
  });

  it('reads the options when there is no prompt', () => {
    expect(said(menuCall({ prompt: '' }))).toEqual(['sales: 1. support, technical support: 2.']);
  });
});

describe('a spoken option', () => {
  it.each([
    ['I need technical support', 'en', '2'],
    ['one', 'en', '1'],
    ['number two please', 'en', '2'],
    ['zwei', 'de', '2'],
    ['1', 'fr', '1'],
    ['sales or support', 'en', null],
    ['one or two', 'en', null],
    ['I have got one question about the weather', 'en', null],
    ['', 'en', null],
  ])('%s (%s): %s', (text, language, key) => {
    expect(optionOfWords(MENU, text, language)?.key ?? null).toBe(key);
  });
});
