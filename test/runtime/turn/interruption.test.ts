import { describe, expect, it } from 'vitest';
import { judgeOverlap, type OverlapJudgement } from '#runtime/turn/machine/interruption/interruption.ts';
import { interruptionOf } from '#runtime/worker/interruption-outcome.ts';
import { TurnScript } from './turn-script.ts';

const reached = { type: 'voice.reached', voicedMs: 256 } as const;

/** The caller has spoken long enough to pause the agent. */
function paused(changes: ConstructorParameters<typeof TurnScript>[0] = {}): TurnScript {
  const script = TurnScript.speaking('The table is booked for two.', changes).after(300);
  script.take({ type: 'voice.started', speechStartMs: script.nowMs });
  return script.after(256).take(reached);
}

const heard = (text: string) =>
  ({ type: 'playout.cleared', replyId: 'r1', heard: text, isExact: true }) as const;

/** What the metrics count of the interruptions so far. */
function outcomes(script: TurnScript): string[] {
  return script
    .decisions('interruption')
    .flatMap((decision) => interruptionOf({ type: 'decision', ...decision }) ?? []);
}

describe('words spoken over the agent', () => {
  const spoken = 'The table is booked for two people tomorrow at seven.';
  it.each<[string, 'low' | 'balanced' | 'high', boolean, OverlapJudgement]>([
    ['', 'balanced', true, 'none'],
    ['Yeah.', 'balanced', true, 'acknowledgement'],
    ['Yeah, okay, right', 'low', true, 'acknowledgement'],
    ['Yeah.', 'high', true, 'words'],
    ['uh', 'balanced', false, 'acknowledgement'],
    ['all', 'balanced', false, 'open'],
    ['all', 'balanced', true, 'words'],
    ['all right but', 'balanced', false, 'words'],
    ['go on', 'high', true, 'ignore_phrase'],
    ['booked for two people', 'balanced', true, 'echo'],
    ['wait', 'low', false, 'words'],
  ])('%j in %s, final %s, are %s', (text, sensitivity, isFinal, judgement) => {
    const { config } = new TurnScript({ sensitivity, ignorePhrases: ['Go on!'] }).state;
    expect(judgeOverlap(text, isFinal, spoken, config)).toBe(judgement);
  });
});

describe('an interruption', () => {
  it.each([
    ['high', 128],
    ['balanced', 256],
    ['low', 512],
  ] as const)('at sensitivity %s needs %i ms of voice', (sensitivity, reachMs) => {
    expect(TurnScript.listening({ sensitivity }).last('watchVoice')?.reachMs).toBe(reachMs);
  });

  it('begins with voice, which pauses the agent, and is confirmed by words; the timeline has the heard part', () => {
    const script = paused();
    expect(script.all('pause')).toHaveLength(1);
    script.take({ type: 'transcript.interim', text: 'wait' });
    expect(script.all('clear').map(({ replyId }) => replyId)).toEqual(['r1']);
    script.take(heard('The table is'));
    expect(script.timeline()).toEqual(['user: book a table', 'assistant: The table is']);
    script
      .after(200)
      .take(
        { type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 400 },
        { type: 'transcript.final', text: 'wait for three' },
      )
      .after(1_000);
    expect(script.asked()).toEqual([
      'user: book a table',
      'assistant: The table is […]',
      'user: wait for three',
    ]);
  });

  it('is withdrawn without words within 900 ms: the agent resumes from the paused word', () => {
    const script = paused();
    const pausedMs = script.nowMs;
    script.after(2_000);
    expect(script.all('resume').map(({ atMs }) => atMs)).toEqual([pausedMs + 900]);
    expect(script.all('clear')).toHaveLength(0);
  });

  it('is withdrawn by a bare acknowledgement, whose words never reach a later turn', () => {
    const script = paused().take(
      { type: 'transcript.interim', text: 'okay' },
      { type: 'voice.stopped', speechEndMs: 0, voicedMs: 300 },
    );
    script.after(1_500);
    expect(script.all('resume')).toHaveLength(1);
    script.take(
      { type: 'transcript.final', text: 'Okay.' },
      { type: 'playout.finished', replyId: 'r1', heard: 'The table is booked for two.' },
    );
    script.after(500).say('thanks');
    expect(script.asked().at(-1)).toBe('user: thanks');
  });

  it('is withdrawn once an acknowledgement is judged, whatever the response wait', () => {
    const script = paused({ responseWaitMs: 800 })
      .take({ type: 'transcript.interim', text: 'Mhm' })
      .after(100);
    const endMs = script.nowMs;
    script.take({ type: 'voice.stopped', speechEndMs: endMs, voicedMs: 356 }).after(400);
    expect(script.all('resume').map(({ atMs }) => atMs)).toEqual([endMs + 200]);
    // The final adds nothing.
    script.take({ type: 'transcript.final', text: 'Mhm.' }, { type: 'transcript.finalised' }).after(1_000);
    expect([script.all('clear').length, script.all('generate').length]).toEqual([0, 1]);
    expect(outcomes(script)).toEqual(['resumed']);
  });

  it('is confirmed by words that the final adds', () => {
    const script = paused().take({ type: 'transcript.interim', text: 'Okay' });
    script.take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 300 }).after(250);
    expect(script.all('resume')).toHaveLength(1);
    script.take({ type: 'transcript.final', text: 'Okay, but for three.' });
    expect(script.all('clear').map(({ replyId }) => replyId)).toEqual(['r1']);
  });

  it('is not withdrawn while more speech follows a word and a breath', () => {
    // The words arrive 350 ms after their end, as usual when they are requested 200 ms after it; finished
    // sentences are answered after 300.
    const script = paused({
      responseWaitMs: 300,
      recognition: { has: 'interims', finalWithinMs: 400 },
    }).after(180);
    script.take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 436 }).after(320);
    expect(script.all('resume')).toHaveLength(0);
    script.take({ type: 'voice.started', speechStartMs: script.nowMs }).after(30);
    script.take({ type: 'transcript.final', text: 'Sorry,' });
    expect([script.all('resume').length, script.all('clear').length]).toEqual([1, 1]);
    expect(script.decisions('interruption').map(({ rule }) => rule)).toEqual(['paused', 'words']);
    expect(outcomes(script)).toEqual(['interrupted']);
  });

  it('keeps the agent paused while an endpoint decision is open, because words may arrive', () => {
    const script = paused().after(400);
    script.take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 656 });
    // 1,000 ms after the pause, and 600 ms after speech whose final may take a second.
    script.after(600);
    expect(script.all('resume')).toHaveLength(0);
    script.take({ type: 'transcript.final', text: 'no, three' });
    expect(script.all('clear')).toHaveLength(1);
  });

  it('before the first audible word withdraws the reply and continues its turn', () => {
    const script = TurnScript.listening().say('book a table');
    script.take({ type: 'voice.started', speechStartMs: script.nowMs }).after(256).take(reached);
    script.take(
      { type: 'reply.piece', replyId: 'r1', text: 'Done.' },
      { type: 'reply.audible', replyId: 'r1' },
    );
    expect(script.all('holdBack').map(({ replyId }) => replyId)).toEqual(['r1']);
    script.take(
      { type: 'transcript.interim', text: 'for two' },
      { type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 300 },
    );
    expect(script.all('discard').map(({ replyId }) => replyId)).toEqual(['r1']);
    script.take({ type: 'transcript.final', text: 'for two' }).after(1_000);
    expect(script.asked()).toEqual(['user: book a table for two']);
    expect(outcomes(script)).toEqual(['withdrawn']);
  });

  it('by noise before the first word only delays the reply', () => {
    const script = TurnScript.listening().say('book a table');
    script.take({ type: 'voice.started', speechStartMs: script.nowMs }).after(256).take(reached);
    script.take(
      { type: 'reply.piece', replyId: 'r1', text: 'Done.' },
      { type: 'reply.generated', replyId: 'r1' },
      { type: 'reply.audible', replyId: 'r1' },
    );
    script.after(900);
    expect(script.last('play')).toMatchObject({ replyId: 'r1', atMs: script.nowMs });
    expect(script.state.phase.is).toBe('speaking');
  });

  it('is ignored if interruptible is false: the caller’s words are answered afterwards', () => {
    const script = TurnScript.speaking('The table is booked.', { interruptible: false });
    script.take({ type: 'voice.started', speechStartMs: script.nowMs }).after(256).take(reached);
    script
      .after(300)
      .take(
        { type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 556 },
        { type: 'transcript.final', text: 'and a parking place.' },
      );
    script.after(1_000);
    expect(script.all('pause').length + script.all('clear').length).toBe(0);
    expect(script.all('generate')).toHaveLength(1);
    script.take({ type: 'playout.finished', replyId: 'r1', heard: 'The table is booked.' });
    expect(script.asked()).toEqual([
      'user: book a table',
      'assistant: The table is booked.',
      'user: and a parking place.',
    ]);
  });

  it('of fixed texts is ignored if interruptible is false, too', () => {
    const script = new TurnScript({
      interruptible: false,
      greeting: { mode: 'say', text: 'Welcome to the house.' },
    });
    script.take(
      { type: 'call.started' },
      { type: 'call.connected' },
      { type: 'reply.audible', replyId: 'r1' },
    );
    script.take(
      { type: 'playout.started', replyId: 'r1', wireMs: script.nowMs },
      { type: 'voice.started', speechStartMs: script.nowMs },
    );
    script.after(256).take(reached, { type: 'transcript.interim', text: 'wait' });
    expect(script.all('pause').length + script.all('clear').length).toBe(0);
  });

  it('needs 700 ms of voice without interims', () => {
    const script = paused({ recognition: { has: 'finals', finalWithinMs: 1_000 } });
    expect(script.last('watchVoice')?.reachMs).toBe(700);
    script.after(444).take({ type: 'voice.reached', voicedMs: 700 });
    expect(script.all('clear')).toHaveLength(1);
    expect(script.last('watchVoice')?.reachMs).toBe(256);
  });

  it('waits for the final of short voice without interims', () => {
    const script = paused({ recognition: { has: 'finals', finalWithinMs: 1_000 } });
    script.after(100).take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 356 }).after(300);
    script.take({ type: 'transcript.final', text: 'yeah' }).after(900);
    expect(script.all('resume')).toHaveLength(1);
  });

  describe('words of speech too short to pause the agent', () => {
    /** The caller's speech ends before it reaches the sensitivity threshold. */
    const short = (voicedMs: number, changes: ConstructorParameters<typeof TurnScript>[0] = {}) =>
      TurnScript.speaking('The table is booked for two.', changes).after(300).voice(voicedMs);

    it.each(['balanced', 'high'] as const)(
      '"Stop." takes the floor at %s: its interim pauses, its final interrupts',
      (sensitivity) => {
        const script = short(224, { sensitivity }).take({ type: 'transcript.interim', text: 'Stop' });
        expect([script.all('pause').length, script.all('clear').length]).toEqual([1, 0]);
        script.after(300).take({ type: 'transcript.final', text: 'Stop.' });
        expect(script.all('clear').map(({ replyId }) => replyId)).toEqual(['r1']);
        script.take(heard('The table')).after(1_000);
        expect(script.asked()).toEqual(['user: book a table', 'assistant: The table […]', 'user: Stop.']);
      },
    );

    it('the interim interrupts the agent when the final never arrives', () => {
      const script = short(224, { recognition: { has: 'interims', finalWithinMs: 500 } }).take({
        type: 'transcript.interim',
        text: 'Stop',
      });
      script.after(900).take(heard('The table')).after(1_000);
      expect([script.all('clear').length, script.all('resume').length, script.asked().at(-1)]).toEqual([
        1,
        1,
        'user: Stop',
      ]);
    });

    it('an acknowledgement only pauses the agent', () => {
      const script = short(224)
        .take({ type: 'transcript.interim', text: 'Sto' })
        .after(100)
        .take({ type: 'transcript.final', text: 'Sure.' })
        .after(2_000);
      expect([script.all('pause').length, script.all('clear').length, script.all('resume').length]).toEqual([
        1, 0, 1,
      ]);
    });

    it.each<[string, number, 'low' | 'balanced' | 'high']>([
      ['stop', 400, 'low'],
      ['stop', 96, 'balanced'],
      ['booked', 224, 'balanced'],
      ['Mhm.', 224, 'balanced'],
    ])('a lone "%s" of %i ms does not interrupt the agent at %s', (text, voicedMs, sensitivity) => {
      const script = short(voicedMs, { sensitivity })
        .take({ type: 'transcript.interim', text }, { type: 'transcript.final', text })
        .after(2_000);
      expect(script.all('pause').length + script.all('clear').length).toBe(0);
      expect(script.decisions('transcript').at(-1)?.rule).toMatch(/^dropped_/);
    });

    it('two words interrupt the agent, also at low', () => {
      expect(
        short(400, { sensitivity: 'low' }).take({ type: 'transcript.final', text: 'hold on' }).all('clear'),
      ).toHaveLength(1);
    });
  });

  it('a reply that ends while its pause is in transit leaves the leg unpaused', () => {
    const script = paused().take({
      type: 'playout.finished',
      replyId: 'r1',
      heard: 'The table is booked for two.',
    });
    expect(script.all('resume')).toHaveLength(1);
    expect(script.state.phase.is).toBe('listening');
  });

  it('without a recogniser voice never pauses the agent', () => {
    const script = TurnScript.listening({ recognition: { has: 'none', finalWithinMs: 0 } });
    script.take({ type: 'user.message', text: 'hi', wantsAudio: true }).answer('Hello.');
    script.take({ type: 'voice.started', speechStartMs: script.nowMs }).after(256).take(reached);
    expect(script.all('pause')).toHaveLength(0);
  });

  it('the stop button silences the agent; later words are a new turn', () => {
    const script = TurnScript.speaking().take({ type: 'user.interrupted' }, heard('The table'));
    expect(script.state.phase.is).toBe('listening');
    script.after(500).say('thanks');
    expect(script.asked()).toEqual(['user: book a table', 'assistant: The table […]', 'user: thanks']);
  });

  it('a leg that never reports what was heard does not block the call', () => {
    const script = paused().take({ type: 'transcript.interim', text: 'wait' });
    script
      .take(
        { type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs: 300 },
        { type: 'transcript.final', text: 'wait' },
      )
      .after(4_500);
    expect(script.asked().at(-1)).toBe('user: wait');
  });
});

describe('echoed words of the agent after it has finished', () => {
  const finished = () => {
    const script = TurnScript.speaking('The table is booked for two.').after(2_000);
    return script
      .take({ type: 'playout.finished', replyId: 'r1', heard: 'The table is booked for two.' })
      .after(300);
  };
  const echo = { type: 'transcript.final', text: 'the table is booked' } as const;

  it('are not a turn when no caller speech was detected', () => {
    const script = finished();
    const before = script.asked();
    script.take(echo).after(3_000);
    expect(script.asked()).toEqual(before);
    expect(script.timeline()).toEqual(['user: book a table', 'assistant: The table is booked for two.']);
    expect(script.decisions('transcript').map(({ rule }) => rule)).toContain('dropped_echo');
    // The caller's next turn is answered as usual.
    script.say('and for three?');
    expect(script.asked().at(-1)).toBe('user: and for three?');
  });

  it('are a turn when the caller says them, or when they arrive later', () => {
    const repeated = finished().voice(900).take(echo).after(1_500);
    expect(repeated.asked().at(-1)).toBe('user: the table is booked');
    const later = finished().after(4_000).take(echo).after(3_000);
    expect(later.asked().at(-1)).toBe('user: the table is booked');
  });
});
