import { expect, it } from 'vitest';
import type { LegCommand } from '#media/leg/leg.ts';
import { type SpeechChunk, SpeechError } from '#media/speech/speech.ts';
import { VoicePace } from '#runtime/turn/loop/heard.ts';
import { SpokenReply } from '#runtime/turn/loop/spoken-reply.ts';

const RATE_HZ = 8_000;

/** A reply during playback, with the commands sent to the leg and its failures. */
function playedReply(synthesise: () => AsyncGenerator<SpeechChunk>, language = 'en') {
  const plays: Extract<LegCommand, { do: 'play' }>[] = [];
  const failures: unknown[] = [];
  let pieces = 0;
  const reply = new SpokenReply(
    {
      replyId: 'r1',
      isFixed: false,
      synthesizer: { id: 'chunks', voices: [], synthesise },
      voice: { voiceId: null, language, speed: 1 },
      pace: new VoicePace(),
      rateHz: RATE_HZ,
      send: (command) => void (command.do === 'play' && plays.push(command)),
      canSend: () => true,
      onAudible: () => undefined,
      onFailed: (error) => failures.push(error),
      nextPieceId: () => ++pieces,
    },
    false,
  );
  reply.play();
  return { reply, plays, failures };
}

/** The commands sent to the leg for a text synthesised in these chunks. */
async function voiced(text: string, chunks: readonly SpeechChunk[], failure: SpeechError | null = null) {
  const { reply, plays, failures } = playedReply(async function* () {
    yield* chunks;
    if (failure) throw failure;
  });
  reply.add({ text, emotion: null });
  reply.complete();
  await expect.poll(() => plays.at(-1)?.last).toBe(true);
  expect(failures).toEqual(failure ? [failure] : []);
  return { reply, plays };
}

/** The result of these sentences when Japanese text normalisation fails. */
function unworded(...texts: readonly string[]) {
  const spoken = playedReply(async function* () {
    yield sound(100);
  }, 'no language');
  for (const text of texts) spoken.reply.add({ text, emotion: null });
  spoken.reply.complete();
  return spoken;
}

const sound = (ms: number): SpeechChunk => ({
  samples: new Int16Array((ms * RATE_HZ) / 1_000).fill(900),
  sampleRateHz: RATE_HZ,
  words: null,
});

it('a leg paused at the very end of a reply has played all of it', async () => {
  const { reply, plays } = await voiced('Yes, of course.', [sound(900)]);
  expect(reply.heardAt({ replyId: 'r1', pieceId: plays.at(-1)?.pieceId ?? 0, sample: 0 })).toEqual({
    text: 'Yes, of course.',
    isExact: true,
  });
});

it('the leg reports progress within a long word, in case it is lost', async () => {
  const { plays } = await voiced('Donaudampfschifffahrtsgesellschaftskapitän.', [
    sound(200),
    sound(200),
    sound(200),
    sound(200),
  ]);
  expect(plays.map(({ marks }) => [...marks])).toMatchObject([[], [1_600], [], [1_600], []]);
});

it('when synthesis of a sentence fails, only its synthesised part counts as heard', async () => {
  const text = 'one two three four five six seven eight nine ten';
  const { reply, plays } = await voiced(
    text,
    [sound(1_000)],
    new SpeechError('connectivity', 'the line is gone'),
  );
  const texts = [
    reply.wholeText,
    reply.heardAt({ replyId: 'r1', pieceId: plays.at(-1)?.pieceId ?? 0, sample: 0 }).text,
  ];
  for (const heard of texts) {
    expect(text.startsWith(heard)).toBe(true);
    expect(heard.split(' ').length).toBeGreaterThanOrEqual(2);
    expect(heard.split(' ').length).toBeLessThanOrEqual(8);
  }
});

it('a reply that fails during synthesis of a piece makes no more, and reports the failure once', async () => {
  const { promise: made, reject } = Promise.withResolvers<void>();
  const lateFailure = new SpeechError('connectivity', 'the line is gone');
  const { failures, plays, reply } = playedReply(async function* () {
    yield sound(1_000);
    await made;
  });
  reply.add({ text: 'one two three four five six', emotion: null });
  await expect.poll(() => plays.length).toBe(1);
  const failure = new Error('no further');
  reply.fail(failure);
  expect(plays.map(({ last }) => last)).toEqual([false, true]);
  reject(lateFailure);
  reply.fail(failure);
  await expect(made).rejects.toBe(lateFailure);
  await new Promise((resolve) => setImmediate(resolve));
  expect(failures).toEqual([failure]);
  expect(plays).toHaveLength(2);
  expect(reply.wholeText).toMatch(/^one two three/);
});

it('failed text normalisation is reported once and asynchronously, like failed synthesis', async () => {
  const { failures, plays } = unworded('かしこまりました。', 'Yes.');
  expect(failures).toEqual([]);
  await expect.poll(() => failures).toEqual([expect.any(RangeError)]);
  expect(plays).toEqual([]);
});

it('when a later sentence cannot be normalised, the reply is played up to it, and ends', async () => {
  const { failures, plays, reply } = unworded('Yes, of course.', 'かしこまりました。', 'Yes.');
  await expect.poll(() => plays.map(({ last }) => last)).toEqual([false, true]);
  expect(failures).toEqual([expect.any(RangeError)]);
  expect(reply.wholeText).toBe('Yes, of course.');
});
