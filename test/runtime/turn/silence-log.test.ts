import { describe, expect, it } from 'vitest';
import { type NotedSilence, SilenceLog } from '#runtime/turn/loop/silence-log.ts';
import type { TurnFact } from '#runtime/turn/machine/turn-inputs.ts';
import { TurnScript } from './turn-script.ts';

/** The silences of a script; its inputs are not stored, so it is run through a separate log. */
function watched(
  run: (script: TurnScript) => void,
  changes: ConstructorParameters<typeof TurnScript>[0] = {},
): NotedSilence[] {
  const log = new SilenceLog();
  const noted: NotedSilence[] = [];
  const script = new TurnScript(changes, (input, effects) => {
    const silence = log.observe(input, effects);
    if (silence) noted.push(silence);
  });
  script.take({ type: 'call.started' }, { type: 'call.connected' });
  run(script);
  return noted;
}

describe('every silence the caller had to wait through is explained', () => {
  it('a turn that waited for the rest of a number is reported with the alternative decisions', () => {
    const [silence, ...others] = watched((script) => {
      script.voice(600).take({ type: 'transcript.final', text: 'my number is five five five one two' });
      script.after(2_000).answer('And then?');
    });
    expect(others).toEqual([]);
    expect(silence).toMatchObject({ endedBy: 'agent', turnId: 1, fromMs: 600, untilMs: 2_600 });
    expect(silence?.causes).toEqual([
      { cause: 'endpoint', rule: 'half_number', ms: 1_500 },
      { cause: 'model', rule: null, ms: 500 },
    ]);
    const endpoint = silence?.decisions.find(({ about }) => about === 'endpoint');
    expect(endpoint).toMatchObject({
      rule: 'half_number',
      anchorMs: 600,
      deadlineMs: 2_100,
      atMs: 2_100,
      rejected: [
        { rule: 'take_as_finished', deadlineMs: 1_100, because: expect.stringContaining('half_number') },
      ],
    });
  });

  it('late words of an unfinished thought wait for the configured time, not for the model', () => {
    const [silence] = watched(
      (script) => {
        script
          .voice(900)
          .after(1_200)
          .take({ type: 'transcript.final', text: 'a table for' })
          .after(2_300)
          .answer('For how many?');
      },
      { responseMaxWaitMs: 3_000, recognition: { has: 'finals', finalWithinMs: 700 } },
    );
    expect(silence?.causes).toEqual([
      { cause: 'endpoint', rule: 'hanging_word', ms: 3_000 },
      { cause: 'model', rule: null, ms: 500 },
    ]);
  });

  it('the wait after a key is for more keys, then for the model', () => {
    const keypad = { terminator: '#', interDigitMs: 2_000 };
    const [silence] = watched(
      (script) => void script.take({ type: 'digit.pressed', digit: '1' }).after(2_600).answer('One.'),
      { keypad },
    );
    expect(silence?.causes).toEqual([
      { cause: 'endpoint', rule: 'keypad', ms: 2_000 },
      { cause: 'model', rule: null, ms: 600 },
    ]);
  });

  it('a quick answer is not a silence, and a caller who continues to talk was not kept waiting', () => {
    const noted = watched((script) => {
      script.voice(600).take({ type: 'transcript.final', text: 'yes please.' });
      script.after(550).answer('Good.');
      script.after(500).take({ type: 'playout.finished', replyId: 'r1', heard: 'Good.' });
      script.after(5_000).voice(400);
    });
    expect(noted).toEqual([]);
  });

  it('the model is the cause before and after a hold line, and the tool is listed with its time', () => {
    const called: TurnFact = {
      type: 'reply.tool_called',
      replyId: 'r1',
      call: { callId: 'c1', toolName: 'look_up', input: '{}' },
      mode: 'blocking',
      source: 'webhook',
    };
    const noted = watched((script) => {
      script.voice(600).take({ type: 'transcript.final', text: 'is my order there.' });
      script.after(600).take(called, { type: 'reply.generated', replyId: 'r1' });
      script.after(3_000);
      const filler = script.last('say')?.replyId ?? '';
      script.take(
        { type: 'reply.audible', replyId: filler },
        { type: 'playout.started', replyId: filler, wireMs: script.nowMs },
      );
    });
    expect(noted[0]?.endedBy).toBe('agent');
    expect(noted[0]?.causes).toMatchObject([
      { cause: 'endpoint' },
      { cause: 'answer' },
      { cause: 'tool', rule: 'look_up', ms: 3_000 },
    ]);
  });

  it('a silent caller is the cause of the quiet before they are asked', () => {
    const noted = watched(
      (script) => {
        script.after(9_000);
        const replyId = script.last('generate')?.replyId ?? '';
        script.take(
          { type: 'reply.audible', replyId },
          { type: 'playout.started', replyId, wireMs: script.nowMs },
        );
      },
      { reengage: true, hangupAfterMs: 24_000 },
    );
    expect(noted).toMatchObject([
      { endedBy: 'agent', causes: [{ cause: 'caller_silent', rule: 'reengage', ms: 9_000 }] },
    ]);
  });

  it('a silent caller is the cause of the quiet before the time limit, unless they await an answer', () => {
    const farewell = (script: TurnScript) => {
      const { replyId = '' } = script.last('say') ?? {};
      script.take(
        { type: 'reply.audible', replyId },
        { type: 'playout.started', replyId, wireMs: script.nowMs },
      );
    };
    expect(watched((script) => farewell(script.at(20_000)), { maxDurationMs: 20_000 })).toMatchObject([
      { endedBy: 'agent', causes: [{ cause: 'caller_silent', rule: 'end_of_call', ms: 20_000 }] },
    ]);
    const waiting = watched(
      (script) =>
        farewell(script.voice(600).take({ type: 'transcript.final', text: 'book a table.' }).at(2_500)),
      {
        maxDurationMs: 2_500,
      },
    );
    expect(waiting[0]?.causes.map(({ cause }) => cause)).toEqual(['endpoint', 'model']);
  });

  it('the quiet before a background result is not a wait; the rest is attributed to the answer', () => {
    const noted = watched((script) => {
      script.say('order it.');
      const { replyId = '' } = script.last('generate') ?? {};
      const call = { callId: 'c1', toolName: 'order', input: '{}' };
      script.take(
        { type: 'reply.tool_called', replyId, call, mode: 'background', source: 'webhook' },
        { type: 'reply.generated', replyId },
      );
      script.answer('It is on its way.').after(500);
      script
        .take({
          type: 'playout.finished',
          replyId: script.last('generate')?.replyId ?? '',
          heard: 'It is on its way.',
        })
        .after(20_000);
      const result = {
        output: 'order 7',
        outputTruncated: false,
        error: null,
        latencyMs: 21_000,
        modelText: 'order 7',
      };
      script
        .take({ type: 'tool.finished', callId: 'c1', status: 'completed', ...result })
        .after(800)
        .answer('Done.');
    });
    expect(noted.at(-1)?.causes).toMatchObject([
      { cause: 'caller_silent', rule: 'background_result', ms: 20_000 },
      { cause: 'answer', ms: 800 },
      { cause: 'tool', rule: 'order', ms: 20_000 },
    ]);
  });

  it('a caller who silenced the agent is not kept waiting by it', () => {
    const noted = watched((script) => {
      script.voice(600).take({ type: 'transcript.final', text: 'book a table.' }).after(1_000);
      script.take({ type: 'user.interrupted' }).after(8_000).voice(400);
    });
    expect(noted).toEqual([]);
  });
});
