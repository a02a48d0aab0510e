/**
 * The settings of menus, mailboxes, transfers and hang-ups at both ends of their ranges. docs/turn-taking.md
 * lists them.
 */
import { describe, expect, it } from 'vitest';
import { hangUpCallTool, transferCallTool } from '#runtime/tools/call-tools.ts';
import { configOf, planOf, renderFor } from './settings-script.ts';
import { TurnScript } from './turn-script.ts';

const said = (script: TurnScript) => script.all('say').map(({ text }) => text);
/** Plays the last line to its end. */
function heard(script: TurnScript): TurnScript {
  const { replyId = '', text = '' } = script.last('say') ?? {};
  return script.take(
    { type: 'playout.started', replyId, wireMs: script.nowMs },
    { type: 'playout.finished', replyId, heard: text },
  );
}

describe('keypad_menu', () => {
  const PROMPT = 'Press 1 for sales.';
  const MENU = {
    enabled: true,
    prompt: PROMPT,
    options: [{ key: '1', label: 'sales', value: 'the sales desk' }],
  };
  const FIRST = { first_message_mode: 'fixed', first_message: 'Hello.' };
  const called = (menu: object) =>
    new TurnScript(configOf({ prompt: FIRST, conversation: { keypad_menu: { ...MENU, ...menu } } })).take(
      { type: 'call.started' },
      { type: 'call.connected' },
    );
  const asked = (menu: object) => heard(called(menu));
  const chosen = (script: TurnScript) => script.all('setVariable').map(({ name, value }) => [name, value]);
  const optionsOf = (keys: string) => [...keys].map((key) => ({ key, label: '', value: `choice ${key}` }));

  it.each([
    [false, 'Hello.'],
    [true, PROMPT],
  ])('keypad_menu.enabled %s', (enabled, first) => {
    expect(said(called({ enabled }))).toEqual([first]);
  });

  it.each([
    ['', '1.'],
    ['x'.repeat(10_000), 'x'.repeat(10_000)],
  ])('keypad_menu.prompt', (prompt, first) => {
    expect(said(called({ prompt, options: optionsOf('1') }))).toEqual([first]);
  });

  it('keypad_menu.options: without any there is no menu, and each of 12 is chosen by its key', () => {
    expect(said(called({ options: [] }))).toEqual(['Hello.']);
    const keys = '1234567890*#';
    expect(
      [...keys].map(
        (digit) => chosen(asked({ options: optionsOf(keys) }).take({ type: 'digit.pressed', digit }))[0]?.[1],
      ),
    ).toEqual(optionsOf(keys).map(({ value }) => value));
  });

  it('keypad_menu.options[]: key and label identify an option, value is what is stored', () => {
    const option = (label: string, value: string) => [{ key: '1', label, value }];
    const saying = (text: string, options: object) =>
      chosen(asked({ options }).voice(500).take({ type: 'transcript.final', text }));
    expect(saying('sales', option('sales', 'the sales desk'))).toEqual([['menu_choice', 'the sales desk']]);
    expect(saying('sales', option('', 'the sales desk'))).toEqual([]);
    expect(chosen(asked({ options: option('', '') }).take({ type: 'digit.pressed', digit: '1' }))).toEqual([
      ['menu_choice', ''],
    ]);
  });

  it.each([
    [true, 1],
    [false, 0],
  ])('keypad_menu.accept_speech %s: a spoken option makes %i choices', (accept_speech, choices) => {
    const script = asked({ accept_speech }).voice(500).take({ type: 'transcript.final', text: 'sales' });
    expect(chosen(script)).toHaveLength(choices);
  });

  it.each(['a', 'v'.repeat(64)])('keypad_menu.variable %s', (variable) => {
    expect(chosen(asked({ variable }).take({ type: 'digit.pressed', digit: '1' }))).toEqual([
      [variable, 'the sales desk'],
    ]);
  });

  it.each([1, 30])('keypad_menu.no_input_timeout_seconds %i', (seconds) => {
    const script = asked({ no_input_timeout_seconds: seconds }).after(seconds * 1_000 - 1);
    expect(script.all('play')).toHaveLength(1);
    expect(script.after(1).all('play')).toHaveLength(2);
  });

  it.each([1, 5])('keypad_menu.max_attempts %i', (attempts) => {
    let script = asked({ max_attempts: attempts });
    for (let attempt = 1; attempt < attempts; attempt++) script = heard(script.after(5_000));
    expect([script.all('play').length, chosen(script).length]).toEqual([attempts, 0]);
    expect(chosen(script.after(5_000))).toHaveLength(1);
  });

  it.each([
    ['', PROMPT],
    ['Sorry?', `Sorry? ${PROMPT}`],
  ])('keypad_menu.retry_message "%s"', (retry_message, second) => {
    expect(said(asked({ retry_message }).after(5_000))).toEqual([PROMPT, second]);
  });

  it.each(['', 'f'.repeat(256)])('keypad_menu.fallback_value "%s"', (fallback_value) => {
    expect(chosen(asked({ fallback_value, max_attempts: 1 }).after(5_000))).toEqual([
      ['menu_choice', fallback_value],
    ]);
  });
});

describe('outbound', () => {
  const answered = (outbound: object) =>
    new TurnScript(
      configOf(
        { prompt: { first_message_mode: 'fixed', first_message: 'Hello.' }, conversation: { outbound } },
        'phone_outbound',
      ),
    ).take({ type: 'call.started' }, { type: 'call.connected' });
  const mailbox = (voicemail: object) =>
    answered({ voicemail })
      .take({ type: 'voice.started', speechStartMs: 0 })
      .after(3_000)
      .take({ type: 'transcript.interim', text: 'please leave a message after the tone' });

  it.each([
    [true, 1_500],
    [false, 0],
  ])('outbound.amd_enabled %s: a silent callee is greeted after %i ms', (amd_enabled, afterMs) => {
    expect(answered({ amd_enabled }).after(5_000).all('play')).toMatchObject([{ atMs: afterMs }]);
  });

  it.each([
    ['hangup', [], 1],
    ['leave_message', ['Your cake is ready.'], 0],
    ['leave_prompt_message', [], 0],
  ])('outbound.voicemail.action %s', (action, lines, hangUps) => {
    const script = mailbox({ action, message: 'Your cake is ready.' }).after(200);
    expect(script.all('hangUp')).toHaveLength(hangUps);
    script.take({ type: 'tone.heard', tone: 'beep' });
    expect(said(script).filter((text) => text !== 'Hello.')).toEqual(lines);
    expect(script.all('generate')).toHaveLength(action === 'leave_prompt_message' ? 1 : 0);
  });

  it.each(['', 'm'.repeat(10_000)])('outbound.voicemail.message of any length', (message) => {
    expect(
      configOf(
        { conversation: { outbound: { voicemail: { action: 'leave_message', message } } } },
        'phone_outbound',
      ).voicemail,
    ).toEqual({
      action: 'leave_message',
      message,
    });
  });
});

describe('transfers', () => {
  const toolOf = (...destinations: object[]) => {
    const plan = planOf({ conversation: { transfer_destinations: destinations } });
    return transferCallTool(plan, renderFor(plan));
  };
  const argumentsOf = (...destinations: object[]) =>
    toolOf(...destinations)?.arguments.map(({ name }) => name);
  /** The model answers with `text` and a transfer. */
  const asked = (destination: object, settings: object = {}, text = '') => {
    const script = TurnScript.listening(
      configOf({ conversation: { transfer_destinations: [destination], ...settings } }),
    ).say('a person please');
    const replyId = script.last('generate')?.replyId ?? '';
    if (text !== '') script.take({ type: 'reply.piece', replyId, text });
    const call = { callId: 'c1', toolName: '_transfer_call', input: '{"announcement":"One moment."}' };
    return script.take(
      { type: 'reply.tool_called', replyId, call, mode: 'transfer', source: 'builtin' },
      { type: 'reply.generated', replyId },
    );
  };
  const failed = (destination: object) =>
    heard(asked(destination)).take({ type: 'transfer.finished', isDone: false, message: 'Busy.' });

  it('transfer_destinations: with none there is no tool, and each of 50 can be named', () => {
    expect(toolOf()).toBe(null);
    const labels = Array.from({ length: 50 }, (_, index) => `desk ${index}`);
    const tool = toolOf(...labels.map((label) => ({ label })));
    expect(tool?.arguments[0]).toEqual({ name: 'destination', description: `One of: ${labels.join(', ')}` });
  });

  it.each([
    ['', ''],
    ['l'.repeat(64), 'd'.repeat(500)],
  ])('transfer_destinations[].label and description are shown to the model', (label, description) => {
    const lines = toolOf({ label, description })?.description.split('\n').slice(1);
    expect(lines).toEqual(label === '' ? [] : [`${label}: ${description}`]);
  });

  it.each([
    ['cold', ['announcement']],
    ['warm', ['announcement', 'notes']],
  ])('transfer_destinations[].mode %s: the model is asked for %j', (mode, names) => {
    expect(argumentsOf({ mode })).toEqual(names);
  });

  it.each([
    ['', /sentences\.$/],
    ['i'.repeat(1_000), /sentences\. i{1000}$/],
  ])('transfer_destinations[].warm_briefing_instructions "%s"', (warm_briefing_instructions, notes) => {
    expect(toolOf({ mode: 'warm', warm_briefing_instructions })?.arguments.at(-1)?.description).toMatch(
      notes,
    );
  });

  it.each([
    ['generated', '', ['One moment.']],
    ['fixed', '', ['One moment.']],
    ['fixed', 'a'.repeat(500), ['a'.repeat(500)]],
    ['off', 'Please hold.', []],
  ])(
    'transfer_destinations[].announcement_mode %s with announcement_message "%s"',
    (announcement_mode, announcement_message, lines) => {
      expect(said(asked({ announcement_mode, announcement_message }))).toEqual(lines);
    },
  );

  it.each([
    ['return_to_agent', '', ['One moment.'], 2],
    ['return_to_agent', 'Nobody is there.', ['One moment.', 'Nobody is there.'], 1],
    ['end_call', 'Nobody is there.', ['One moment.', 'Nobody is there.'], 1],
  ])(
    'transfer_destinations[].on_failure.action %s with on_failure.message "%s"',
    (action, message, lines, generations) => {
      const script = failed({ on_failure: { action, message } });
      expect(said(script)).toEqual(lines);
      expect(script.all('generate')).toHaveLength(generations);
      expect(script.state.phase.is === 'ending').toBe(action === 'end_call');
    },
  );

  it.each([
    [true, 0],
    [false, 1],
  ])(
    'transfer_refuse_questions %s: a transfer with a question is announced %i times',
    (transfer_refuse_questions, times) => {
      const script = asked(
        { announcement_mode: 'off' },
        { transfer_refuse_questions },
        'Shall I connect you?',
      );
      const { replyId = '' } = script.all('generate')[0] ?? {};
      script.take(
        { type: 'reply.audible', replyId },
        { type: 'playout.finished', replyId, heard: 'Shall I connect you?' },
      );
      expect(script.all('transfer')).toHaveLength(times);
    },
  );
});

describe('system_tools', () => {
  const hungUp = (settings: object, text = '') => {
    const script = TurnScript.listening(
      configOf({ tools: { system_tools: { hang_up_call: true, ...settings } } }),
    ).say('bye');
    const replyId = script.last('generate')?.replyId ?? '';
    if (text !== '') script.take({ type: 'reply.piece', replyId, text });
    const call = { callId: 'c1', toolName: '_hang_up_call', input: '{"farewell":"So long."}' };
    script.take(
      { type: 'reply.tool_called', replyId, call, mode: 'hang_up', source: 'builtin' },
      { type: 'reply.generated', replyId },
    );
    return text === ''
      ? script
      : script.take({ type: 'reply.audible', replyId }, { type: 'playout.finished', replyId, heard: text });
  };

  it.each([
    [false, undefined],
    [true, '_hang_up_call'],
  ])('hang_up_call %s', (hang_up_call, name) => {
    expect(hangUpCallTool(planOf({ tools: { system_tools: { hang_up_call } } }).config)?.name).toBe(name);
  });

  it.each([
    ['generated', 'Thank you.', ['So long.']],
    ['fixed', '', []],
    ['fixed', 't'.repeat(500), ['t'.repeat(500)]],
    ['off', 'Thank you.', []],
  ])('hang_up_call_farewell_mode %s with hang_up_call_farewell_message "%s"', (mode, message, lines) => {
    expect(
      said(hungUp({ hang_up_call_farewell_mode: mode, hang_up_call_farewell_message: message })),
    ).toEqual(lines);
  });

  it.each([
    [false, 1],
    [true, 0],
  ])(
    'hang_up_call_refuse_questions %s: a closing question ends the call %i times',
    (hang_up_call_refuse_questions, times) => {
      expect(hungUp({ hang_up_call_refuse_questions }, 'Anything else?').all('hangUp')).toHaveLength(times);
    },
  );
});
