/**
 * A recogniser whose final results are limited to what a caller can say. A call keeps all of them in its
 * transcript and examines the current turn with each new one, so endless words would slow down other calls.
 */
import type { Clock } from '#base/clock.ts';
import { type RecognitionEvent, type RecognitionStream, type Recognizer, SpeechError } from '../speech.ts';
import { Allowance } from './allowance.ts';
import { OWN_SERVER } from './own-server.ts';

/** Characters of final results in a stream; fast speech has 25 a second. */
const CHARACTERS = { atOnce: 10_000, perSecond: 100 };
/** A result counts as this many characters more, because each is examined. */
const CHARACTERS_PER_FINAL = 20;

/** Wraps a recogniser so that a stream fails as `unavailable` when it has too many words. */
export function limitFinals(recognizer: Recognizer, clock: Clock): Recognizer {
  return {
    ...recognizer,
    open(options) {
      const allowance = new Allowance(clock, CHARACTERS);
      let isOver = false;
      const onEvent = (event: RecognitionEvent) => {
        if (isOver) return;
        if (event.type !== 'final' || allowance.take(event.text.length + CHARACTERS_PER_FINAL))
          return options.onEvent(event);
        isOver = true;
        stream.close();
        const error = new SpeechError('unavailable', `${OWN_SERVER} sends more words than a caller can say`);
        options.onEvent({ type: 'failed', error });
      };
      const stream: RecognitionStream = recognizer.open({ ...options, onEvent });
      return stream;
    },
  };
}
