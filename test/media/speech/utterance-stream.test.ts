import { describe, expect, it } from 'vitest';
import type { Recognizer } from '#media/speech/speech.ts';
import { openUtteranceStream } from '#media/speech/utterance-stream.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { buzz, Recording, silence } from './conformance.ts';

const RATE_HZ = 8_000;

/** An engine that recognises one phrase by its length: speech of 1 s to 2.5 s, including pauses. */
function phraseEngine(knowsPhrasesOnly: boolean): {
  readonly recognizer: Recognizer;
  readonly asked: number[];
} {
  const asked: number[] = [];
  const transcribe = async (samples: Int16Array) => {
    asked.push(samples.length);
    const [first, last] = [
      samples.findIndex((sample) => sample !== 0),
      samples.findLastIndex((sample) => sample !== 0),
    ];
    const ms = ((last - first) * 1_000) / RATE_HZ;
    return ms > 1_000 && ms < 2_500 ? 'the phrase' : '';
  };
  const clock = new ManualClock();
  return {
    asked,
    recognizer: {
      id: 'phrases',
      givesInterims: false,
      expectedFinalMs: 100,
      open: (recognition) =>
        openUtteranceStream({ recognition, transcribe, clock, deadlineMs: 8_000, knowsPhrasesOnly }),
    },
  };
}

/**
 * Each part is spoken and finalised before the next, as in a conversation in which every pause requests the
 * words.
 */
async function hear(
  recognizer: Recognizer,
  parts: readonly { readonly voiceMs: number; readonly restMs: number }[],
): Promise<Recording> {
  const heard = new Recording(recognizer, RATE_HZ);
  heard.write(silence(RATE_HZ, 400));
  for (const [index, { voiceMs, restMs }] of parts.entries()) {
    heard.write(buzz(RATE_HZ, voiceMs));
    heard.write(silence(RATE_HZ, 240));
    heard.stream.finalise();
    heard.write(silence(RATE_HZ, restMs));
    await heard.until('finalised', index + 1);
  }
  return heard;
}

describe('a phrase finalised in the pause within it', () => {
  it('is recognised again in one piece by an engine that recognises only complete phrases', async () => {
    const { recognizer } = phraseEngine(true);
    const heard = await hear(recognizer, [
      { voiceMs: 400, restMs: 100 },
      { voiceMs: 700, restMs: 0 },
    ]);
    expect(heard.of('final')).toMatchObject([{ text: 'the phrase', startMs: 300 }]);
  });

  it('is joined from any number of parts', async () => {
    const { recognizer } = phraseEngine(true);
    const parts = Array.from({ length: 3 }, () => ({ voiceMs: 240, restMs: 0 }));
    expect((await hear(recognizer, parts)).finals).toBe('the phrase');
  });

  it('is not joined with much earlier speech', async () => {
    const { recognizer, asked } = phraseEngine(true);
    const heard = await hear(recognizer, [
      { voiceMs: 400, restMs: 2_000 },
      { voiceMs: 700, restMs: 0 },
    ]);
    expect(heard.finals).toBe('');
    expect(asked).toHaveLength(2);
  });

  it('is recognised separately after a cough', async () => {
    const { recognizer, asked } = phraseEngine(true);
    const heard = await hear(recognizer, [
      { voiceMs: 200, restMs: 100 },
      { voiceMs: 1_500, restMs: 0 },
    ]);
    expect(heard.finals).toBe('the phrase');
    expect(asked).toHaveLength(2);
  });

  it('is not recognised twice by an engine that recognises words', async () => {
    const { recognizer, asked } = phraseEngine(false);
    await hear(recognizer, [
      { voiceMs: 400, restMs: 100 },
      { voiceMs: 700, restMs: 0 },
    ]);
    expect(asked).toHaveLength(2);
  });

  it('is given up when its parts are longer than any phrase', async () => {
    const { recognizer, asked } = phraseEngine(true);
    await hear(
      recognizer,
      Array.from({ length: 3 }, () => ({ voiceMs: 3_500, restMs: 0 })),
    );
    expect(Math.max(...asked)).toBeLessThan(8 * RATE_HZ);
  });
});
