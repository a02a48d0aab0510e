import { expect, it } from 'vitest';
import { measureFinals } from '#media/speech/measured-finals.ts';
import type { RecognitionOptions, Recognizer } from '#media/speech/speech.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

it('finals are expected within the engine’s measured p99, once twenty have been measured', async () => {
  const clock = new ManualClock();
  let options: RecognitionOptions | null = null;
  const engine: Recognizer = {
    id: 'an-engine',
    givesInterims: true,
    expectedFinalMs: 300,
    open(opened) {
      options = opened;
      return { write: () => {}, finalise: () => {}, close: () => {} };
    },
  };
  const measured = measureFinals(engine, clock);
  const stream = measured.open({
    sampleRateHz: 8_000,
    language: 'en',
    multilingual: false,
    keyterms: [],
    onEvent: () => {},
  });
  const answerAfter = async (ms: number) => {
    stream.finalise();
    await clock.advance(ms);
    options!.onEvent({ type: 'finalised' });
  };
  for (let count = 1; count <= 19; count++) {
    stream.write(new Int16Array(160));
    await answerAfter(count * 10);
  }
  // No audio was written before these finals, which makes them meaningless as samples.
  for (let count = 0; count < 10; count++) await answerAfter(0);
  expect(measured.expectedFinalMs).toBe(300);
  stream.write(new Int16Array(160));
  await answerAfter(800);
  expect(measured.expectedFinalMs).toBe(190);
  for (let count = 0; count < 5; count++) {
    stream.write(new Int16Array(160));
    await answerAfter(800);
  }
  expect(measured.expectedFinalMs).toBe(800);
});
