/** How many words a call accepts from a recogniser of its agent's owner. */
import { expect, it } from 'vitest';
import { limitWords } from '#media/speech/custom/limited-words.ts';
import type { RecognitionEvent, RecognitionOptions, Recognizer } from '#media/speech/speech.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

/** A limited recogniser, and the means to report its results. */
function open(clock: ManualClock) {
  let report: RecognitionOptions['onEvent'] = () => undefined;
  const engine: Recognizer = {
    id: 'custom:1',
    givesInterims: true,
    expectedFinalMs: 700,
    open: ({ onEvent }) => {
      report = onEvent;
      return { write: () => undefined, finalise: () => undefined, close: () => undefined };
    },
  };
  const heard: RecognitionEvent[] = [];
  const onEvent = (event: RecognitionEvent) => void heard.push(event);
  limitWords(engine, clock).open({
    sampleRateHz: 8_000,
    language: 'en',
    multilingual: false,
    keyterms: [],
    onEvent,
  });
  return { heard, report: (event: RecognitionEvent) => report(event) };
}

it('interim results beyond the limit are ignored until it has grown again', async () => {
  const clock = new ManualClock();
  const { heard, report } = open(clock);
  for (let count = 0; count < 10; count++) report({ type: 'interim', text: 'x'.repeat(4_980) });
  expect(heard).toHaveLength(4);
  await clock.advance(1_000);
  report({ type: 'interim', text: 'x'.repeat(4_980) });
  expect(heard).toHaveLength(5);
});

it('an hour of fast speech is within the limit of final results', async () => {
  const clock = new ManualClock();
  const { heard, report } = open(clock);
  for (let second = 0; second < 3_600; second++) {
    report({ type: 'final', text: 'x'.repeat(25), startMs: null, endMs: null, language: null });
    await clock.advance(1_000);
  }
  expect(heard).toHaveLength(3_600);
  expect(heard.some(({ type }) => type === 'failed')).toBe(false);
});
