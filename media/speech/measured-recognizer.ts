/** Measures how long a recogniser takes to settle what it has heard, and counts its failures. */
import type { Clock } from '#base/clock.ts';
import type { VendorMeters } from '#config/vendor-meters.ts';
import type { RecognitionEvent, RecognitionOptions, RecognitionStream, Recognizer } from './speech.ts';

/** Opens a stream whose requests for finals are measured. */
export function openMeasured(
  engine: Recognizer,
  recognition: RecognitionOptions,
  { vendors, clock }: { readonly vendors: VendorMeters; readonly clock: Clock },
): RecognitionStream {
  let finalisedMs: number | null = null;
  const onEvent = (event: RecognitionEvent) => {
    if (event.type === 'failed') vendors.failed('recognition', engine.id, event.error.category);
    if (event.type === 'finalised' && finalisedMs !== null) {
      vendors.began('recognition', engine.id, clock.now() - finalisedMs);
      finalisedMs = null;
    }
    recognition.onEvent(event);
  };
  const stream = engine.open({ ...recognition, onEvent });
  return {
    write: (samples) => stream.write(samples),
    finalise() {
      finalisedMs ??= clock.now();
      stream.finalise();
    },
    close: () => stream.close(),
  };
}
