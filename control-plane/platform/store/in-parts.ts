/**
 * Work on many documents, a few at a time with a rest between them: the embedded database does one command
 * after another, so one over thousands of documents would hold up everybody's.
 */
import type { Model } from 'mongoose';
import type { Clock } from '#base/clock.ts';

/** Documents of one command that writes: 1 ms of the embedded database, many times that on a busy machine. */
const PART = 10;
/**
 * Rest after a part for each millisecond it took: other requests take several commands each, one after
 * another.
 */
const REST = 3;

/** Hands `work` the items in order, a part at a time, and rests after each. */
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
 * Hands `work` the ids of what matches, a part at a time, until nothing does: what is done to a document must
 * make it match no more.
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
