/**
 * A recogniser that learns how long its finals take: the turn loop waits for a late one as long as this
 * engine needs here, not as its file assumes.
 */
import type { Clock } from '#base/clock.ts';
import type { RecognitionStream, Recognizer } from './speech.ts';

/** Answers remembered; older ones are forgotten. */
const REMEMBERED = 200;
/** Fewer say nothing about a p99. */
const LEAST_ANSWERS = 20;
const PERCENTILE = 0.99;

/** The same recogniser, its `expectedFinalMs` the p99 of the answers to `finalise` once enough have come. */
export function measureFinals(recognizer: Recognizer, clock: Clock): Recognizer {
  const tookMs: number[] = [];
  let next = 0;
  return {
    id: recognizer.id,
    givesInterims: recognizer.givesInterims,
    get expectedFinalMs() {
      if (tookMs.length < LEAST_ANSWERS) return recognizer.expectedFinalMs;
      return (
        [...tookMs].sort((a, b) => a - b)[Math.floor(PERCENTILE * (tookMs.length - 1))] ??
        recognizer.expectedFinalMs
      );
    },
    open(options) {
      const askedAt: number[] = [];
      let hasAudio = false;
      const stream = recognizer.open({
        ...options,
        onEvent(event) {
          const at = event.type === 'finalised' ? askedAt.shift() : undefined;
          if (at !== undefined && !Number.isNaN(at)) {
            tookMs[next] = clock.now() - at;
            next = (next + 1) % REMEMBERED;
          }
          options.onEvent(event);
        },
      });
      const measured: RecognitionStream = {
        write(samples) {
          hasAudio = true;
          stream.write(samples);
        },
        finalise() {
          // One with nothing to settle is answered at once and says nothing about the engine.
          askedAt.push(hasAudio ? clock.now() : Number.NaN);
          hasAudio = false;
          stream.finalise();
        },
        close: () => stream.close(),
      };
      return measured;
    },
    ...(recognizer.transcribe ? { transcribe: recognizer.transcribe } : {}),
  };
}
