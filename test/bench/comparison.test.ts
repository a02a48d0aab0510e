/** The comparison's evaluation of a call. */
import { describe, expect, it } from 'vitest';
import { judgeCall, ownWords } from '#bench/comparison/judge.ts';
import { GREETING, LONG_REPLY, WORD_MS } from '#bench/comparison/script.ts';
import type { RoomCall } from '#caller/room-caller.ts';
import { addVoice, type Meaning } from '#protocol/audible-timeline.ts';

const WORDS = LONG_REPLY.split(' ').length;
const LONG_MS = WORDS * WORD_MS;

/** A call with the agent audible in these spans and with these lines in its transcript. */
function callOf(
  spans: readonly (readonly [number, number])[],
  lines: readonly (readonly [Meaning, number, number])[],
): RoomCall {
  const voicedMs = spans.flatMap(([from, to]) =>
    Array.from({ length: (to - from) / 10 }, (_, index) => from + 10 * index),
  );
  const agent: { firstMs: number; lastMs: number }[] = [];
  for (const atMs of voicedMs) addVoice(agent, atMs);
  return {
    joinedMs: 0,
    agent,
    voicedMs,
    lines: lines.map(([means, firstMs, lastMs]) => ({ text: means, means, firstMs, lastMs })),
    latenessMs: [],
    endedByCaller: true,
  };
}

describe('the evaluation of a call', () => {
  it('times each answer from the end of the caller’s line, and counts missing answers', () => {
    const call = callOf(
      [
        [200, 1_000],
        [3_600, 5_000],
      ],
      [
        ['turn', 2_000, 3_000],
        ['turn', 6_000, 7_000],
      ],
    );
    expect(judgeCall(call, [])).toMatchObject({
      greetingMs: 200,
      replyMs: [600],
      unanswered: 1,
      premature: 0,
    });
  });

  it('distinguishes pauses for thought in which the agent spoke from pauses it waited out', () => {
    const spokenInto = callOf(
      [[1_500, 2_600]],
      [
        ['part', 0, 1_000],
        ['turn', 2_000, 3_000],
      ],
    );
    const waitedOut = callOf(
      [[3_500, 4_500]],
      [
        ['part', 0, 1_000],
        ['turn', 2_000, 3_000],
      ],
    );
    expect(judgeCall(spokenInto, [])).toMatchObject({ pauses: 1, premature: 1 });
    expect(judgeCall(waitedOut, [])).toMatchObject({ pauses: 1, premature: 0, replyMs: [500] });
  });

  it('compares the recorded reply with the words heard before an interruption', () => {
    const call = callOf(
      [
        [1_500, 1_500 + 10 * WORD_MS],
        [8_000, 9_000],
      ],
      [
        ['turn', 0, 1_000],
        ['interruption', 4_500, 6_500],
      ],
    );
    const heard = judgeCall(call, [GREETING, LONG_REPLY.split(' ').slice(0, 12).join(' ')]);
    expect(heard).toMatchObject({
      interruptions: 1,
      missed: 0,
      wordsOff: [2],
      stopMs: [1_500 + 10 * WORD_MS - 10 - 4_500],
    });
    expect(judgeCall(call, null).wordsOff).toEqual([]);
  });

  it('counts an interruption as missed when the agent continues to speak', () => {
    expect(
      judgeCall(
        callOf(
          [[1_500, 7_000]],
          [
            ['turn', 0, 1_000],
            ['interruption', 4_000, 6_500],
          ],
        ),
        [],
      ),
    ).toMatchObject({ interruptions: 1, missed: 1 });
  });

  it('requires a long answer to continue over a “mhm”, with or without a pause', () => {
    const lines = [
      ['turn', 0, 1_000],
      ['backchannel', 4_000, 4_400],
    ] as const;
    expect(judgeCall(callOf([[1_500, 1_500 + LONG_MS]], lines), [LONG_REPLY])).toMatchObject({
      listenedTo: 1,
      brokenOff: 0,
      heldMs: [0],
    });
    const paused = callOf(
      [
        [1_500, 4_300],
        [5_300, 2_500 + LONG_MS],
      ],
      lines,
    );
    expect(judgeCall(paused, [LONG_REPLY])).toMatchObject({ brokenOff: 0, heldMs: [1_010] });
    expect(judgeCall(callOf([[1_500, 4_300]], lines), ['Our garden was'])).toMatchObject({ brokenOff: 1 });
  });

  it('requires the last answer of a scene to be finished where the scene says so', () => {
    const lines = [
      ['turn', 0, 1_000],
      ['turn', 3_000, 4_000],
    ] as const;
    const spans = (lastMs: number) => [[1_500, 2_500] as const, [4_500, lastMs] as const];
    const [whole, broken] = [callOf(spans(4_500 + LONG_MS), lines), callOf(spans(6_000), lines)];
    expect(judgeCall(whole, [LONG_REPLY], true)).toMatchObject({ listenedTo: 1, brokenOff: 0 });
    expect(judgeCall(broken, ['Our garden was'], true)).toMatchObject({ listenedTo: 1, brokenOff: 1 });
    expect(judgeCall(broken, ['Our garden was'])).toMatchObject({ listenedTo: 0, brokenOff: 0 });
  });

  it('separates unprompted agent speech from the scripted answers', () => {
    expect(ownWords([GREETING, 'Our garden was', 'Sorry, something went wrong.', ''])).toEqual([
      'Sorry, something went wrong.',
    ]);
  });
});
