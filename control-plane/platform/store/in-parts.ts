/**
 * Processes many documents in small parts with pauses in between: the embedded database runs one command at a
 * time, so a command over thousands of documents would block all others.
 */
import type { Model } from 'mongoose';
import type { Clock } from '#base/clock.ts';

/** Documents per write command: takes 1 ms in the embedded database, many times that on a busy machine. */
const PART = 10;
/** Pause after a part, per millisecond it took; other requests need several consecutive commands each. */
const REST = 3;

/** Passes the items to `work` in order, one part at a time, pausing after each. */
export async function inParts<Item>(
  clock: Pick<Clock, 'now' | 'sleep'>,
  items: readonly Item[],
  work: (part: Item[]) => Promise<unknown>,
  size = PART,
): Promise<void> {
  for (let first = 0; first < items.length; first += size) {
    const startMs = clock.now();
    await work(items.slice(first, first + size));
    const tookMs = clock.now() - startMs;
    if (tookMs > 0 && first + size < items.length) await clock.sleep(REST * tookMs);
  }
}

/**
 * Passes the ids of matching documents to `work`, one part at a time, until none match. `work` must change
 * each document so that it no longer matches.
 */
export async function whileMatching<Stored extends { readonly _id: string }>(
  clock: Pick<Clock, 'now' | 'sleep'>,
  { model, filter }: { readonly model: Model<Stored>; readonly filter: object },
  work: (ids: string[]) => Promise<unknown>,
): Promise<void> {
  for (;;) {
    const startMs = clock.now();
    const found = (await model.find(filter, { _id: 1 }).limit(PART).lean()) as unknown as {
      readonly _id: string;
    }[];
    if (found.length > 0) await work(found.map(({ _id }) => _id));
    if (found.length < PART) return;
    const tookMs = clock.now() - startMs;
    if (tookMs > 0) await clock.sleep(REST * tookMs);
  }
}
