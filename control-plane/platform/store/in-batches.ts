/**
 * Processes many documents in small batches with pauses in between: the embedded database runs one command at
 * a time, so a command over thousands of documents would block all others.
 */
import type { Model } from 'mongoose';
import type { Clock } from '#base/clock.ts';

/** Documents per batch: takes 1 ms in the embedded database, many times that on a busy machine. */
const BATCH_SIZE = 10;
/** Pause after a batch, per millisecond it took; other requests need several consecutive commands each. */
export const PAUSE_FACTOR = 3;

/** Options of `inBatches`. */
interface BatchOptions {
  readonly size?: number;
  /** Pause after a batch, per millisecond it took; asked after each. */
  pauseFactor?(): number;
}

/** Passes the items to `work` in order, one batch at a time, pausing after each. */
export async function inBatches<Item>(
  clock: Pick<Clock, 'now' | 'sleep'>,
  items: readonly Item[],
  work: (batch: Item[]) => Promise<unknown>,
  { size = BATCH_SIZE, pauseFactor = () => PAUSE_FACTOR }: BatchOptions = {},
): Promise<void> {
  for (let first = 0; first < items.length; first += size) {
    const startMs = clock.now();
    await work(items.slice(first, first + size));
    const tookMs = clock.now() - startMs;
    if (tookMs > 0 && first + size < items.length) await clock.sleep(pauseFactor() * tookMs);
  }
}

/**
 * Passes the ids of matching documents to `work`, one batch at a time, until none match. `work` must change
 * each document so that it no longer matches.
 */
export async function repeatWhileMatching<Stored extends { readonly _id: string }>(
  clock: Pick<Clock, 'now' | 'sleep'>,
  { model, filter }: { readonly model: Model<Stored>; readonly filter: object },
  work: (ids: string[]) => Promise<unknown>,
): Promise<void> {
  for (;;) {
    const startMs = clock.now();
    const found = (await model.find(filter, { _id: 1 }).limit(BATCH_SIZE).lean()) as unknown as {
      readonly _id: string;
    }[];
    if (found.length > 0) await work(found.map(({ _id }) => _id));
    if (found.length < BATCH_SIZE) return;
    const tookMs = clock.now() - startMs;
    if (tookMs > 0) await clock.sleep(PAUSE_FACTOR * tookMs);
  }
}
