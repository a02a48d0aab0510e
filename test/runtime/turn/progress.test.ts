import { describe, expect, it } from 'vitest';
import { phrasesFor } from '#runtime/turn/text/phrases.ts';
import { playOut, saidBy, writes } from './reply-facts.ts';
import { TurnScript } from './turn-script.ts';

/** No state of a call lasts for ever: each has a deadline with a forced outcome. */
const FINALS = { recognition: { has: 'finals', finalWithinMs: 500 } } as const;
const { cannotHear, trouble } = phrasesFor('en');

describe('speech whose words never arrive', () => {
  it('is asked for again 3.5 s after its end', () => {
    const script = TurnScript.listening(FINALS).at(1_000).voice(1_400);
    script.at(2_400 + 3_400);
    expect(saidBy(script)).toEqual([]);
    script.at(2_400 + 3_500);
    expect(saidBy(script)).toEqual([trouble]);
  });

  it('is asked for again no later when unfinished thoughts get more time', () => {
    const script = TurnScript.listening({ ...FINALS, eagerness: 'relaxed', responseMaxWaitMs: 4_000 })
      .at(1_000)
      .voice(1_400);
    script.at(2_400 + 3_500);
    expect(saidBy(script)).toEqual([trouble]);
  });

  it('is answered if its words do arrive while the agent is asking for them', () => {
    const script = TurnScript.listening(FINALS).at(1_000);
    script
      .take({ type: 'voice.started', speechStartMs: 1_000 })
      .at(1_300)
      .take({ type: 'voice.reached', voicedMs: 256 });
    script.at(2_400).take({ type: 'voice.stopped', speechEndMs: 2_400, voicedMs: 1_400 }).at(6_000);
    const { replyId = '' } = script.last('say') ?? {};
    script.take({ type: 'reply.audible', replyId }, { type: 'playout.started', replyId, wireMs: 6_000 });
    script.at(6_500).take({ type: 'transcript.final', text: 'what are your opening hours' });
    script.take({ type: 'playout.cleared', replyId, heard: "I'm sorry", isExact: true }).after(100);
    expect(script.asked().at(-1)).toBe('user: what are your opening hours');
  });

  it('is asked for twice in a row; then the agent mentions other ways, once', () => {
    const script = TurnScript.listening(FINALS);
    for (let time = 0; time < 5; time++) {
      const asked = saidBy(script).length;
      script.after(1_000).voice(1_400).after(4_000);
      if (saidBy(script).length > asked) playOut(script);
    }
    expect(saidBy(script)).toEqual([trouble, trouble, cannotHear]);
  });

  it('resets the count once something was understood', () => {
    const script = TurnScript.listening(FINALS);
    for (let time = 0; time < 3; time++) {
      script.after(1_000).voice(1_400).after(4_000);
      playOut(script);
      script.after(1_000).say('hello');
      script.answer('Hello.').after(500);
      const { replyId = '' } = script.last('generate') ?? {};
      script.take({ type: 'playout.finished', replyId, heard: 'Hello.' });
    }
    expect(saidBy(script)).toEqual([trouble, trouble, trouble]);
  });

  it('is not asked for after a cough', () => {
    const script = TurnScript.listening(FINALS).at(1_000).voice(300).after(20_000);
    expect(saidBy(script)).toEqual([]);
  });

  it('no longer blocks what waited for it, because nothing was said', () => {
    const script = TurnScript.listening();
    script.say('look it up');
    const { replyId = '' } = script.last('generate') ?? {};
    const call = { callId: 'c1', toolName: 'look', input: '{}' };
    script.take(
      { type: 'reply.tool_called', replyId, call, mode: 'background', source: 'webhook' },
      { type: 'reply.generated', replyId },
    );
    script.answer('I will.').after(500);
    script.take({
      type: 'playout.finished',
      replyId: script.last('generate')?.replyId ?? '',
      heard: 'I will.',
    });
    script.take({ type: 'voice.started', speechStartMs: script.nowMs }).after(200);
    const result = {
      output: 'It is blue.',
      outputTruncated: false,
      error: null,
      latencyMs: 900,
      modelText: 'It is blue.',
    };
    script.take({ type: 'tool.finished', callId: 'c1', status: 'completed', ...result });
    script.take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 200 }).after(2_000);
    expect(script.asked().at(-1)).toContain('It is blue.');
  });
});

describe('a voice that continues without new words', () => {
  it('does not block the answer to earlier words', () => {
    const script = TurnScript.listening().at(1_000);
    script
      .take({ type: 'voice.started', speechStartMs: 1_000 })
      .at(2_000)
      .take({ type: 'transcript.interim', text: 'book a table' });
    script.at(5_499);
    expect(script.all('finalise')).toHaveLength(0);
    script.at(5_500);
    expect(script.all('finalise')).toHaveLength(1);
    script.at(6_600);
    expect(script.asked().at(-1)).toBe('user: book a table');
  });

  it('is awaited as long as words arrive', () => {
    const script = TurnScript.listening().at(1_000).take({ type: 'voice.started', speechStartMs: 1_000 });
    for (let word = 1; word <= 10; word++)
      script.after(3_000).take({ type: 'transcript.interim', text: 'and '.repeat(word) });
    expect(script.all('finalise')).toEqual([]);
    expect(script.all('generate')).toEqual([]);
  });

  it('gets time for a long sentence if the recogniser has no interims, and its words count', () => {
    const script = TurnScript.listening(FINALS)
      .at(1_000)
      .take({ type: 'voice.started', speechStartMs: 1_000 });
    script.at(11_100);
    expect(script.all('finalise')).toHaveLength(1);
    script.take({ type: 'transcript.final', text: 'my number is five five one' }).at(20_000);
    expect(script.all('generate')).toEqual([]);
    script
      .take({ type: 'voice.stopped', speechEndMs: 20_000, voicedMs: 19_000 })
      .take({ type: 'transcript.final', text: 'and two' })
      .after(2_000);
    expect(script.asked().at(-1)).toBe('user: my number is five five one and two');
  });

  it('is noise when it has no words: the agent may ask whether the caller is still there', () => {
    const script = TurnScript.listening({ reengage: true, hangupAfterMs: 20_000 }).at(1_000);
    script.take({ type: 'voice.started', speechStartMs: 1_000 }).at(25_000);
    expect(script.decisions('progress').at(0)?.rule).toBe('stalled_talking');
    expect(script.decisions('silence').map(({ rule }) => rule)).toContain('reengage');
  });

  it('does not block the answer to a typed message', () => {
    const script = TurnScript.listening(FINALS).at(1_000);
    script
      .take({ type: 'voice.started', speechStartMs: 1_000 }, { type: 'voice.reached', voicedMs: 256 })
      .at(2_000);
    script.take({ type: 'user.message', text: 'Who are you?', wantsAudio: true }).answer('I am the demo.');
    expect(script.state.phase.is).toBe('paused');
    script.after(4_500);
    expect(script.last('resume')).toBeDefined();
    expect(script.state.phase.is).toBe('speaking');
  });

  it('takes the floor from an unstarted answer once it is long enough, and both are answered', () => {
    const script = TurnScript.listening(FINALS);
    script.say('book a table');
    script.take(
      { type: 'voice.started', speechStartMs: script.nowMs },
      { type: 'voice.reached', voicedMs: 256 },
    );
    const { replyId = '' } = script.last('generate') ?? {};
    script.take({ type: 'voice.reached', voicedMs: 704 }).after(1_000);
    expect(script.all('discard').map((effect) => effect.replyId)).toContain(replyId);
    script.take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 1_500 });
    script.take({ type: 'transcript.final', text: 'for two' }).after(2_000);
    expect(script.asked().at(-1)).toBe('user: book a table for two');
  });
});

describe('a late voice', () => {
  it('still says the greeting', () => {
    const script = new TurnScript({ greeting: { mode: 'say', text: 'Hello!' } });
    script.take({ type: 'call.started' }, { type: 'call.connected' }).at(6_000);
    playOut(script);
    expect(script.timeline()).toEqual(['assistant: Hello!']);
  });

  it('still gives the answer, even if the hold line was late, too', () => {
    const script = TurnScript.listening();
    script.say('book a table');
    const { replyId = '' } = script.last('generate') ?? {};
    writes(script, replyId, 'Booked.');
    script.after(8_000);
    playOut(script);
    script.take(
      { type: 'reply.audible', replyId },
      { type: 'playout.started', replyId, wireMs: script.nowMs },
    );
    script.after(500).take({ type: 'playout.finished', replyId, heard: 'Booked.' });
    expect(script.timeline().at(-1)).toBe('assistant: Booked.');
  });

  it('loses only the hold line, not the answer, when the hold line is never synthesised', () => {
    const script = TurnScript.listening();
    script.say('book a table');
    const { replyId = '' } = script.last('generate') ?? {};
    writes(script, replyId, 'Booked.');
    script.after(4_000);
    script.take({ type: 'reply.audible', replyId }).after(12_000);
    expect(script.all('discard').map((effect) => effect.replyId)).toEqual([script.last('say')?.replyId]);
    expect(script.state.phase).toMatchObject({ is: 'speaking', utterance: { replyId } });
  });
});

it('a background result received during unrecognised voice starts its turn when the voice ends', () => {
  const script = TurnScript.listening({ recognition: { has: 'none', finalWithinMs: 0 } });
  const call = { callId: 'c1', toolName: 'order', input: '{}' };
  script.take({ type: 'user.message', text: 'order it', wantsAudio: true });
  script.take(
    { type: 'reply.tool_called', replyId: 'r1', call, mode: 'background', source: 'webhook' },
    { type: 'reply.generated', replyId: 'r1' },
  );
  script.answer('It is on its way.').take({ type: 'voice.started', speechStartMs: script.nowMs });
  const result = {
    output: 'order 7',
    outputTruncated: false,
    error: null,
    latencyMs: 0,
    modelText: 'order 7',
  };
  script.take({ type: 'tool.finished', callId: 'c1', status: 'completed', ...result });
  script.take({
    type: 'playout.finished',
    replyId: script.last('generate')?.replyId ?? '',
    heard: 'It is on its way.',
  });
  const asked = script.all('generate').length;
  script.take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 300 });
  expect(script.all('generate')).toHaveLength(asked + 1);
  expect(script.asked().at(-1)).toBe('user: [The background tool order has answered: order 7]');
});
