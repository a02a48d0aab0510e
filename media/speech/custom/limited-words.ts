/**
 * A recogniser whose results are limited to what a caller can say. A call keeps all of them in its
 * transcript and examines the current turn with each new one, so endless words would slow down other calls.
 */
import type { Clock } from '#base/clock.ts';
import { TokenBucket } from '#base/token-bucket.ts';
import { type RecognitionEvent, type RecognitionStream, type Recognizer, SpeechError } from '../speech.ts';
import { OWN_SERVER } from './own-server.ts';

/** Characters of final results in a stream; fast speech has 25 a second. */
const FINAL_CHARACTERS = { burst: 10_000, perSecond: 100 };
/** A result counts as this many characters more, because each is examined. */
const CHARACTERS_PER_RESULT = 20;
/** The same for interim results. Those beyond it are dropped: the next or the final one replaces them. */
const INTERIM_CHARACTERS = { burst: 20_000, perSecond: 5_000 };

/** Wraps a recogniser so that a stream fails as `unavailable` when it has too many final words. */
export function limitWords(recognizer: Recognizer, clock: Clock): Recognizer {
  return {
    ...recognizer,
    open(options) {
      const finals = new TokenBucket(clock, FINAL_CHARACTERS);
      const interims = new TokenBucket(clock, INTERIM_CHARACTERS);
      let isOver = false;
      const onEvent = (event: RecognitionEvent) => {
        if (isOver) return;
        if (event.type === 'interim' && !interims.tryTake(event.text.length + CHARACTERS_PER_RESULT)) return;
        if (event.type !== 'final' || finals.tryTake(event.text.length + CHARACTERS_PER_RESULT)) {
          options.onEvent(event);
          return;
        }
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
