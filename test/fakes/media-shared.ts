/** The parts that a media thread shares among its legs, for tests that open one leg. */
import { isLoopback } from '#base/public-address.ts';
import { EventBatcher } from '#media/leg/event-batch.ts';
import type { MediaShared } from '#media/leg/leg-audio.ts';

type Required = Pick<MediaShared, 'clock' | 'pacer' | 'detector'>;

/** The given parts, and by default a log that is not read. */
export function mediaShared(parts: Required & Partial<MediaShared>): MediaShared {
  return {
    events: new EventBatcher(),
    isOwnAddress: isLoopback,
    speech: { untilMs: Number.POSITIVE_INFINITY },
    audios: new Map(),
    log: () => undefined,
    ...parts,
  };
}
