/** Outgoing calls that are not simply answered by a person (`automated_lines`). */
import { describe, expect, it } from 'vitest';
import type { TurnConfig } from '#runtime/turn/machine/turn-config.ts';
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
import { TurnScript } from './turn-script.ts';

const GREETING = 'Hello, this is Ann of the bakery.';
const QUEUE = 'All our agents are busy. Please stay on the line.';
const MENU = 'For sales, press 1. For support, press 2.';
const GOOGLE =
  'The person you’re calling is using a screening service from Google. Go ahead and say your name.';
const LINES = { introduction: '', holdMaxMs: 300_000, menuRepeats: 2, pressesKeys: true };
const HANG_UP = { action: 'hangup', message: '' } as const;

/** A call that was answered, by an agent that detects machines. */
function answered(changes: Partial<TurnConfig> = {}): TurnScript {
  return new TurnScript({
    greeting: { mode: 'say', text: GREETING },
    voicemail: HANG_UP,
    lines: LINES,
    ...changes,
  }).take({ type: 'call.started' }, { type: 'call.connected' });
}

/** The far end says something that lasts 3 s, and is silent for `thenMs`. */
function hears(script: TurnScript, text: string, thenMs = 1_500): TurnScript {
  script.after(200).voice(3_000).take({ type: 'transcript.final', text });
  return script.take({ type: 'transcript.finalised' }).after(thenMs);
}

/** Texts that were spoken, fixed ones only. */
const said = (script: TurnScript) =>
  script.all('play').flatMap(({ replyId }) => {
    const text = script.all('say').find((one) => one.replyId === replyId && one.isSpoken)?.text;
    return text === undefined ? [] : [text];
  });
const spokenRuns = (script: TurnScript) => script.all('generate').filter(({ isSpoken }) => isSpoken);
/** The model asks for a key of the menu. */
const keys = (script: TurnScript, callId = 'k1'): TurnFact => ({
  type: 'reply.tool_called',
  replyId: script.last('generate')?.replyId ?? '',
  call: { callId, toolName: '_press_keys', input: `{"keys":"${callId === 'k1' ? 2 : 3}"}` },
  mode: 'keys',
  source: 'builtin',
});
const press = (script: TurnScript) =>
  script.take(keys(script), {
    type: 'reply.generated',
    replyId: script.last('generate')?.replyId ?? '',
  });
/** The agent's question whether somebody is there is heard. */
function sayProbe(script: TurnScript): TurnScript {
  const { stillThere } = script.state.config.phrases;
  expect(said(script).at(-1)).toBe(stillThere);
  return plays(script, stillThere, 800);
}
/** The agent's last words are played to their end. */
function plays(script: TurnScript, heard: string, forMs: number): TurnScript {
  const { replyId = '' } = script.last('play') ?? {};
  script.take({ type: 'playout.started', replyId, wireMs: script.nowMs }).after(forMs);
  return script.take({ type: 'playout.finished', replyId, heard });
}
/** The model chooses to stay in the menu: its word is not spoken. */
function stays(script: TurnScript): void {
  const { replyId = '' } = script.last('generate') ?? {};
  script.take({ type: 'reply.piece', replyId, text: 'wait' }, { type: 'reply.generated', replyId });
  script.take({ type: 'reply.audible', replyId }, { type: 'playout.finished', replyId, heard: 'wait' });
}
const stretches = (script: TurnScript) => script.all('line').map(({ stretch }) => stretch);

describe('on hold', () => {
  it('the agent is silent, and greets at the first words of a person', () => {
    const script = hears(answered(), QUEUE, 60_000);
    hears(script, QUEUE, 60_000);
    expect(said(script)).toEqual([]);
    expect(script.all('generate')).toEqual([]);
    hears(script, 'Hello, this is Maria, how can I help you?', 1_000);
    expect(said(script)).toEqual([GREETING]);
    expect(script.timeline().filter((line) => line.includes(QUEUE))).toHaveLength(1);
  });

  it('the time on hold is reported, and explains the silence', () => {
    const script = hears(answered(), QUEUE, 20_000);
    const fromMs = script.decisions('line').find(({ rule }) => rule === 'line_queue')?.deadlineMs;
    hears(script, 'Maria speaking', 1_000);
    const [stretch] = stretches(script);
    expect(stretch).toMatchObject({ is: 'hold', endedBy: 'person', fromMs });
    expect((stretch?.untilMs ?? 0) - (stretch?.fromMs ?? 0)).toBeGreaterThan(20_000);
    expect(script.decisions('line').at(-1)?.rule).toBe('was_hold');
  });

  it('idle timers rest: nobody is asked whether they are still there, or hung up on', () => {
    const script = hears(answered({ reengage: true, hangupAfterMs: 20_000 }), QUEUE, 200_000);
    expect(said(script)).toEqual([]);
    expect(script.all('hangUp')).toEqual([]);
  });

  it('music without words is hold: what the agent says ends, and nothing else is said', () => {
    const script = answered().after(2_000);
    const { replyId = '' } = script.last('play') ?? {};
    script.take({ type: 'playout.started', replyId, wireMs: script.nowMs });
    script.after(500).take({ type: 'music.started' });
    expect(script.last('clear')?.replyId).toBe(replyId);
    script.take({ type: 'playout.cleared', replyId, heard: 'Hello,', isExact: true }).after(100_000);
    expect(script.all('play')).toHaveLength(1);
  });

  it('music ends words before keys, and what would follow keys that were being pressed', () => {
    const talking = () => TurnScript.listening({ lines: LINES }).say('For refills it is two, I think.');
    const speaks = talking();
    const { replyId = '' } = speaks.last('generate') ?? {};
    speaks
      .take({ type: 'reply.piece', replyId, text: 'I press two.' }, keys(speaks))
      .take({ type: 'reply.generated', replyId }, { type: 'reply.audible', replyId })
      .take({ type: 'music.started' });
    expect(speaks.last('clear')?.replyId).toBe(replyId);
    const presses = talking();
    presses.take(keys(presses), keys(presses, 'k2'));
    presses.take({ type: 'reply.generated', replyId: presses.last('generate')?.replyId ?? '' });
    expect(presses.all('pressKeys')).toHaveLength(1);
    presses.take({ type: 'music.started' }, { type: 'keys.sent', pressId: 'k1' });
    expect(presses.all('discard').map((one) => one.replyId)).toEqual([presses.last('generate')?.replyId]);
    expect(presses.state.phase.is).toBe('listening');
  });

  it('a voice in the music that no words follow is not asked to repeat them', () => {
    const script = hears(answered(), QUEUE).take({ type: 'music.started' });
    script.voice(5_000).take({ type: 'transcript.finalised' }).after(30_000);
    expect(said(script)).toEqual([]);
  });

  it('a person who asks to wait is answered, and the agent waits', () => {
    const script = TurnScript.listening({ lines: LINES, reengage: true, hangupAfterMs: 20_000 });
    script.say('Hold on a second please.').answer('Of course.');
    const { replyId = '' } = script.last('generate') ?? {};
    script.after(800).take({ type: 'playout.finished', replyId, heard: 'Of course.' }).after(100_000);
    expect(script.all('generate')).toHaveLength(1);
    expect(script.all('hangUp')).toEqual([]);
    script.say('Okay, I found it.');
    expect(script.all('generate')).toHaveLength(2);
  });

  it('a long announcement is known by the music that follows it', () => {
    const advert =
      'Acme now delivers fresh bread and cakes to every door in town on the same day for a small fee.';
    const script = hears(answered(), QUEUE).take({ type: 'music.started' });
    hears(script, advert, 10_000);
    expect(said(script)).toEqual([]);
    script.take({ type: 'music.stopped' });
    hears(
      script,
      'The parcel that was sent to the old address came back to the depot in town this very morning.',
      3_000,
    );
    expect(said(script)).toEqual([]);
    expect(said(script.after(1_000))).toEqual([GREETING]);
  });

  it('after the longest hold the agent asks once whether somebody is there, and gives up', () => {
    const script = hears(answered(), QUEUE, 299_000);
    expect(said(script)).toEqual([]);
    script.after(2_000);
    const { stillThere } = script.state.config.phrases;
    expect(said(script)).toEqual([stillThere]);
    plays(script, stillThere, 1_000).after(9_000);
    expect(script.all('hangUp')).toEqual([]);
    expect(script.after(2_000).last('hangUp')?.reason).toBe('agent_hangup');
    expect(stretches(script).at(-1)).toMatchObject({
      is: 'hold',
      endedBy: 'gave_up',
      gaveUp: 'held_too_long',
    });
  });

  it('a hang-up of the far end ends the stretch', () => {
    const script = hears(answered(), QUEUE, 5_000)
      .take({ type: 'leg.closed', reason: 'remote' })
      .after(1_000);
    expect(stretches(script)).toMatchObject([{ is: 'hold', endedBy: 'call_ended' }]);
    expect(script.last('hangUp')?.reason).toBe('user_hangup');
  });
});

describe('the screening of a phone', () => {
  it('hears once who calls and why; the person who comes is greeted', () => {
    const introduction = 'Ann of the bakery, your cake is ready.';
    const script = hears(answered({ lines: { ...LINES, introduction } }), GOOGLE, 1_200);
    expect(said(script)).toEqual([introduction]);
    plays(script, introduction, 2_000);
    hears(script, 'Thank you. Please stay on the line.', 5_000);
    hears(script, GOOGLE, 5_000);
    expect(said(script)).toEqual([introduction]);
    hears(script, 'Hello?', 1_000);
    expect(said(script)).toEqual([introduction, GREETING]);
    expect(stretches(script)).toMatchObject([{ is: 'screening', endedBy: 'person' }]);
  });

  it('without a fixed text the model says it', () => {
    const script = hears(answered(), GOOGLE, 1_200);
    expect(spokenRuns(script)).toHaveLength(1);
    expect(script.asked().at(-1)).toContain('Say your name');
  });

  it('its announcements do not interrupt the agent', () => {
    const introduction = 'Ann of the bakery, your cake is ready.';
    const script = hears(answered({ lines: { ...LINES, introduction } }), GOOGLE, 1_200);
    const { replyId = '' } = script.last('play') ?? {};
    script.take({ type: 'playout.started', replyId, wireMs: script.nowMs }).after(300);
    script.take({ type: 'voice.started', speechStartMs: script.nowMs }).after(600);
    script.take(
      { type: 'voice.reached', voicedMs: 512 },
      { type: 'transcript.interim', text: 'thank you please wait' },
    );
    expect(script.all('pause')).toEqual([]);
    expect(script.all('clear')).toEqual([]);
  });

  it('that speaks of a tone is no mailbox, and is not hung up on', () => {
    const script = hears(answered(), 'At the tone, please say your name.', 1_200);
    expect(script.all('hangUp')).toEqual([]);
    expect(spokenRuns(script)).toHaveLength(1);
  });

  it('a mailbox after it gets what a mailbox gets', () => {
    const script = hears(answered(), GOOGLE, 3_000);
    script.answer('Ann of the bakery.');
    const { replyId = '' } = script.last('generate') ?? {};
    script.after(1_000).take({ type: 'playout.finished', replyId, heard: 'Ann of the bakery.' });
    hears(script, 'This person is not available. Please leave a message after the beep.', 1_000);
    expect(script.last('hangUp')?.reason).toBe('agent_hangup');
    expect(stretches(script)).toMatchObject([{ is: 'screening', endedBy: 'machine' }]);
  });
});

describe('a menu', () => {
  it('is waited out, and answered without words', () => {
    const script = hears(answered(), 'Thank you for calling Acme. For sales, press 1.', 1_200);
    expect(script.all('generate')).toEqual([]);
    hears(script, 'For support, press 2.', 1_900);
    expect(script.all('generate')).toEqual([]);
    script.after(200);
    expect(script.all('generate')).toMatchObject([{ isSpoken: false }]);
    expect(script.asked().at(-1)).toContain('press 1. For support, press 2.');
    expect(said(script)).toEqual([]);
  });

  it('gets no hold line from a slow model', () => {
    const script = hears(answered(), MENU, 30_000);
    expect(said(script)).toEqual([]);
  });

  it('that takes words is answered in words', () => {
    const script = hears(answered(), 'In a few words, tell me what you are calling about.', 3_000);
    expect(spokenRuns(script)).toHaveLength(1);
  });

  it('heard too often is a loop: the agent asks whether somebody is there, and gives up', () => {
    const script = answered();
    for (let heard = 0; heard < 3; heard++) {
      hears(script, MENU, 3_000);
      if (heard < 2) stays(script);
    }
    expect(script.all('generate')).toHaveLength(2);
    expect(script.all('hangUp')).toEqual([]);
    sayProbe(script);
    hears(script, MENU, 3_000);
    expect(script.last('hangUp')?.reason).toBe('agent_hangup');
    expect(stretches(script)).toMatchObject([{ is: 'menu', endedBy: 'gave_up', gaveUp: 'menu_loop' }]);
  });

  it('whose words a person repeats is asked whether somebody is there, and the person is not hung up on', () => {
    const script = answered({ lines: { ...LINES, menuRepeats: 1 } });
    hears(script, 'Press one.', 3_000);
    stays(script);
    hears(script, 'Press one.', 3_000);
    sayProbe(script);
    hears(script, 'Yes, I am here, who is this?', 20_000);
    expect(script.all('hangUp')).toEqual([]);
    expect(said(script).at(-1)).toBe(GREETING);
  });

  it('gets the key that the agent presses, and stays a menu until it goes on', () => {
    const script = hears(answered(), MENU, 2_300);
    expect(script.asked().at(-1)).toContain('Choose by the tool _press_keys.');
    press(script);
    expect(script.all('pressKeys').map(({ keys }) => keys)).toEqual(['2']);
    script.after(100).take({ type: 'keys.sent', pressId: 'k1' });
    expect(stretches(script)).toEqual([]);
    hears(script, QUEUE, 30_000);
    hears(script, 'Hello, this is Maria, how can I help you?', 1_000);
    expect(stretches(script).map(({ is, endedBy }) => [is, endedBy])).toEqual([
      ['menu', 'hold'],
      ['hold', 'person'],
    ]);
    expect(said(script)).toEqual([GREETING]);
    expect(script.all('generate')).toHaveLength(1);
  });

  it('that goes on while keys are pressed is judged after them', () => {
    const script = hears(answered(), MENU, 2_300);
    press(script);
    script.say('Please stay on the line.');
    expect(script.decisions('line').map(({ rule }) => rule)).not.toContain('line_queue');
    script.take({ type: 'keys.sent', pressId: 'k1' });
    expect(stretches(script)).toMatchObject([{ is: 'menu', endedBy: 'hold' }]);
    expect(script.all('dropKeys')).toEqual([]);
  });

  it('that goes on while the model asks for keys does not keep them from being pressed', () => {
    const script = hears(answered(), MENU, 2_300);
    script.take(keys(script));
    script.say('Or stay on the line.');
    script.take({ type: 'reply.generated', replyId: script.last('generate')?.replyId ?? '' });
    expect(
      script.all('discard').filter(({ replyId }) => replyId === script.last('generate')?.replyId),
    ).toEqual([]);
    expect(script.all('pressKeys')).toHaveLength(1);
  });

  it('to an agent without keys: the model is told that it has none', () => {
    const script = hears(answered({ lines: { ...LINES, pressesKeys: false } }), MENU, 2_300);
    expect(script.asked().at(-1)).toContain('You cannot press keys in this call.');
  });

  it('that says nothing more is a dead end, once nobody has answered a question', () => {
    const script = hears(answered(), MENU, 3_000);
    stays(script);
    script.after(21_000);
    expect(said(script)).toEqual([script.state.config.phrases.stillThere]);
    sayProbe(script).after(11_000);
    expect(script.last('hangUp')?.reason).toBe('agent_hangup');
    expect(stretches(script).at(-1)).toMatchObject({ gaveUp: 'dead_end' });
  });

  it('that says that nobody will come is a dead end at once', () => {
    const script = hears(answered(), 'The number you have dialed is not in service.', 15_000);
    expect(said(script)).toEqual([]);
    const { stillThere } = script.state.config.phrases;
    expect(said(script.after(10_000))).toEqual([stillThere]);
  });

  it('that turns out to be a person is answered', () => {
    const script = hears(answered(), 'Press one if you are a robot.', 1_200);
    hears(script, 'Just kidding, who is this?', 1_500);
    expect(said(script)).toEqual([GREETING]);
    expect(script.all('hangUp')).toEqual([]);
  });
});

describe('a person', () => {
  it.each(['Hello?', 'Acme, how may I help you?', 'Who’s calling please?', 'Yes.'])(
    'who says %j is greeted as before',
    (text) => {
      const [withLines, without] = [answered(), answered()].map((script, index) => {
        if (index === 1) script.state = { ...script.state, line: null };
        return hears(script, text, 2_000)
          .all('play')
          .map(({ atMs }) => atMs);
      });
      expect(withLines).toEqual(without);
      expect(withLines).toHaveLength(1);
    },
  );

  it('who was greeted may mention mailboxes', () => {
    const script = hears(answered(), 'Hello?', 2_000);
    plays(script, GREETING, 1_000).after(15_000);
    script.say('I got your voicemail, please leave a message next time.').after(5_000);
    expect(script.all('hangUp')).toEqual([]);
    expect(script.all('generate')).toHaveLength(1);
  });
});

it('without the section nothing is judged', () => {
  const script = new TurnScript({ greeting: { mode: 'say', text: GREETING }, voicemail: HANG_UP });
  script.take({ type: 'call.started' }, { type: 'call.connected' });
  hears(script, MENU, 3_000);
  expect(script.state.line).toBeNull();
  expect(said(script)).toEqual([GREETING]);
});
