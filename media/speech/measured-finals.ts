/**
 * A recogniser that measures how long its finals take: the turn loop waits for a late one as long as this
 * engine needs here, not as long as its file assumes.
 */
import type { Clock } from '#base/clock.ts';
import type { RecognitionStream, Recognizer } from './speech.ts';

/** Answers remembered; older ones are dropped. */
const REMEMBERED = 200;
/** Fewer are not enough for a p99. */
const MIN_ANSWERS = 20;
const PERCENTILE = 0.99;

/**
 * Wraps a recogniser so that `expectedFinalMs` becomes the p99 of its answers to `finalise` once there are
 * enough.
 */
export function measureFinals(recognizer: Recognizer, clock: Clock): Recognizer {
  const tookMs: number[] = [];
  let next = 0;
  return {
    id: recognizer.id,
    givesInterims: recognizer.givesInterims,
    get expectedFinalMs() {
      if (tookMs.length < MIN_ANSWERS) return recognizer.expectedFinalMs;
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
          // A finalise with nothing to settle is answered at once and says nothing about the engine.
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
