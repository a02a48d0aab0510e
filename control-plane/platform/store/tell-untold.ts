/**
 * Tells of what documents list as not told yet, such as alerts. A document is marked `is_untold` by the write
 * that adds to its list, so a process that dies loses nothing; what is told must not mind a repetition.
 */
import type { Model } from 'mongoose';
import { isDatabaseAway } from './database-away.ts';
import { readStored } from './read-stored.ts';

const BATCH = 100;

interface Untold {
  _id: string;
  rev: number;
  is_untold?: true;
}

/** Tells of every marked document. An error with one of them is thrown once all others are told. */
export async function tellUntold<Stored extends Untold>(
  model: Model<Stored>,
  tell: (document: Stored) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = [];
  for (let after = ''; ; ) {
    const marked = await readStored<Stored>(
      model,
      { is_untold: true, _id: { $gt: after } },
      { sort: { _id: 1 }, limit: BATCH },
    );
    for (const document of marked)
      await tell(document)
        .then(() => markTold(model, document))
        .catch((error: unknown) => {
          if (isDatabaseAway(error)) throw error;
          errors.push(error);
        });
    after = marked.at(-1)?._id ?? '';
    if (marked.length < BATCH) break;
  }
  if (errors.length > 0) throw errors[0];
}

/** With another entry since, all are told once more. */
async function markTold<Stored extends Untold>(
  { collection }: Model<Stored>,
  { _id, rev }: Stored,
): Promise<void> {
  await collection.updateOne(
    { _id, rev } as never,
    { $set: { rev: rev + 1 }, $unset: { untold: '', is_untold: '' } } as never,
  );
}
