import { expect, it } from 'vitest';
import { measureFinals } from '#media/speech/measured-finals.ts';
import type { RecognitionOptions, Recognizer } from '#media/speech/speech.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

it('expects finals as late as the engine’s p99 here, once twenty have been measured', async () => {
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
  // Nothing was written before these: they say nothing.
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
