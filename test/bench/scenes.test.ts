/** Tests of scene verdicts: each fault is found where it happened, and only there. */
import { describe, expect, it } from 'vitest';
import { judgeScene, type SessionView } from '#bench/scenes/judge.ts';
import { piecesOf, wordsHeard } from '#bench/scenes/voice.ts';
import type { Timeline } from '#protocol/audible-timeline.ts';

const REPLY = 'We are open from noon until ten in the evening.';
const expected = { reply: REPLY, longestWaitMs: 1_500, isInterruptible: true, wordsHeard: () => 4 };
const START_MS = Date.UTC(2026, 0, 1);

const at = (firstMs: number, lastMs: number) => ({ firstMs: START_MS + firstMs, lastMs: START_MS + lastMs });
const line = (means: Timeline['lines'][number]['means'], text: string, firstMs: number, lastMs: number) => ({
  means,
  text,
  ...at(firstMs, lastMs),
});
const QUESTION = line('turn', 'When are you open?', 1_000, 2_000);

function session(
  said: readonly (readonly ['user' | 'assistant', string])[],
  silences: SessionView['silences'] = [],
): SessionView {
  return { items: said.map(([role, content]) => ({ type: 'message', role, content })), silences };
}

const silence = (fromMs: number, ms: number, explainedMs = ms) => ({
  started_at: new Date(START_MS + fromMs).toISOString(),
  duration_ms: ms,
  causes: [{ cause: 'endpoint', ms: explainedMs }],
});

describe('judging a scene', () => {
  it('finds no fault in a question and its answer', () => {
    const said = session([
      ['user', 'When are you open?'],
      ['assistant', REPLY],
    ]);
    const verdict = judgeScene({ agent: [at(0, 800), at(2_700, 5_000)], lines: [QUESTION] }, said, expected);
    expect(verdict).toEqual({
      falseInterruptions: 0,
      missedInterruptions: 0,
      premature: 0,
      late: 0,
      unanswered: 0,
      wordsSaid: 4,
      wordsCutOff: 0,
      strayTurns: 0,
      silencesOver4s: 0,
      unattributed: 0,
      replyMs: [700],
      stopMs: [],
      hesitationMs: [],
      heardWordsOff: [],
    });
  });

  it('finds an answer that is late, unexplained or missing', () => {
    const late = { agent: [at(6_500, 7_000)], lines: [QUESTION] };
    expect(judgeScene(late, session([]), expected)).toMatchObject({
      late: 1,
      silencesOver4s: 1,
      unattributed: 1,
      wordsCutOff: 4,
    });
    expect(judgeScene(late, session([], [silence(2_000, 4_500)]), expected)).toMatchObject({
      unattributed: 0,
    });
    expect(judgeScene(late, session([], [silence(2_000, 4_500, 1_000)]), expected)).toMatchObject({
      unattributed: 1,
    });
    expect(judgeScene({ agent: [], lines: [QUESTION] }, session([]), expected)).toMatchObject({
      unanswered: 1,
      replyMs: [],
    });
  });

  it('counts the silence from the last word of a caller who spoke over the agent', () => {
    const over = {
      agent: [at(2_700, 4_500), at(9_000, 9_500)],
      lines: [QUESTION, line('interruption', 'Stop please.', 4_000, 7_000)],
    };
    expect(judgeScene(over, session([]), expected)).toMatchObject({
      silencesOver4s: 0,
      replyMs: [700, 2_000],
    });
    const alone = { agent: [at(2_700, 4_500), at(9_000, 9_500)], lines: [QUESTION] };
    expect(judgeScene(alone, session([]), expected)).toMatchObject({ silencesOver4s: 1 });
  });

  it('requires a turn for words spoken over an uninterruptible agent, but none for an acknowledgement', () => {
    const lines = [QUESTION, line('backchannel', 'Good to know.', 3_000, 3_600)];
    const taken = session([
      ['user', 'When are you open?'],
      ['user', 'Good to know.'],
    ]);
    const verdict = (isInterruptible: boolean, { items }: SessionView) =>
      judgeScene(
        { agent: [at(2_700, 5_000)], lines },
        { items, silences: [] },
        { ...expected, isInterruptible },
      );
    expect(verdict(true, taken)).toMatchObject({ strayTurns: 1, wordsCutOff: 0 });
    expect(verdict(false, taken)).toMatchObject({ strayTurns: 0, wordsCutOff: 0, wordsSaid: 7 });
    expect(verdict(false, session([['user', 'When are you open?']]))).toMatchObject({ wordsCutOff: 3 });
  });

  it('detects an agent that starts too early, and one that answers words the caller did not say', () => {
    const lines = [line('part', 'My number is five', 1_000, 2_000), line('turn', 'six seven.', 3_000, 3_800)];
    expect(
      judgeScene({ agent: [at(2_600, 3_100), at(4_500, 5_000)], lines }, session([]), expected),
    ).toMatchObject({ premature: 1 });
    const stray = session([
      ['user', 'My number is five six seven.'],
      ['user', 'open from noon'],
    ]);
    expect(judgeScene({ agent: [at(4_500, 5_000)], lines }, stray, expected)).toMatchObject({
      premature: 0,
      wordsCutOff: 0,
      strayTurns: 1,
    });
  });

  it('distinguishes missed interruptions from false ones', () => {
    const interruption = line('interruption', 'Stop please.', 4_000, 4_600);
    const cut = session([['assistant', 'We are open from']]);
    const stopped = judgeScene(
      { agent: [at(2_700, 4_400), at(5_500, 6_000)], lines: [QUESTION, interruption] },
      cut,
      expected,
    );
    expect(stopped).toMatchObject({
      falseInterruptions: 0,
      missedInterruptions: 0,
      stopMs: [400],
      heardWordsOff: [0],
    });
    const missed = judgeScene(
      { agent: [at(2_700, 6_000)], lines: [QUESTION, interruption] },
      session([]),
      expected,
    );
    expect(missed).toMatchObject({ missedInterruptions: 1, stopMs: [2_000] });
    const cough = judgeScene(
      {
        agent: [at(2_700, 4_300), at(5_200, 7_000)],
        lines: [QUESTION, line('sound', 'cough', 4_000, 4_500)],
      },
      cut,
      expected,
    );
    expect(cough).toMatchObject({ falseInterruptions: 1, hesitationMs: [900] });
    const held = session([
      ['assistant', 'One moment, please.'],
      ['assistant', REPLY],
    ]);
    expect(judgeScene({ agent: [at(2_700, 4_300)], lines: [QUESTION] }, held, expected)).toMatchObject({
      falseInterruptions: 0,
    });
  });

  it('does not count the agent’s held time as heard', () => {
    const interruption = line('interruption', 'Stop please.', 6_000, 6_600);
    const cut = session([['assistant', 'We are open from']]);
    const wordsAfter = (heardMs: number) => Math.floor(heardMs / 400);
    const agent = [at(2_700, 3_500), at(4_400, 5_000), at(5_250, 6_200)];
    const verdict = judgeScene({ agent, lines: [QUESTION, interruption] }, cut, {
      ...expected,
      wordsHeard: wordsAfter,
    });
    // 3,500 ms from the first sound to the last, less 900 held; a 250 ms pause of the voice still counts: 6
    // words, not 8.
    expect(verdict.heardWordsOff).toEqual([2]);
  });

  it('counts the completed words of a reply piece by piece, using the voice itself', () => {
    const pieces = piecesOf(
      REPLY,
      new Set(['We are open', 'We are', 'from noon until ten in the evening.', 'Hello.']),
    );
    expect(pieces).toEqual(['We are open', 'from noon until ten in the evening.']);
    expect([0, 100_000].map((ms) => wordsHeard(pieces, ms))).toEqual([0, 10]);
    const counts = Array.from({ length: 30 }, (_, index) => wordsHeard(pieces, 100 * index));
    expect(counts).toEqual([...counts].sort((one, other) => one - other));
  });
});
