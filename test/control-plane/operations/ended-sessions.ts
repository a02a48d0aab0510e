/** Changes of ended sessions in the store, for tests of those who count them. */
import type { Context } from '#control-plane/platform/context.ts';
import { DUE_BITS } from '#control-plane/platform/store/session-due.ts';

/** Leaves an ended session without an analysis. */
export async function skipAnalysis({ models }: Context, id: string): Promise<void> {
  const skipped = {
    $set: { 'analysis.state': 'skipped' },
    $bit: { due: { and: ~(DUE_BITS.analysis | DUE_BITS.analysing) } },
  };
  await models.sessions.collection.updateOne({ _id: id } as never, skipped as never);
}

/** Stores this many copies of an ended session that is not counted yet, as if they were erased. */
export async function copySession({ models }: Context, id: string, count: number): Promise<void> {
  const { collection } = models.sessions;
  const session = await collection.findOne({ _id: id } as never);
  const copies = Array.from({ length: count }, (_, index) => ({
    ...session,
    _id: `${id}-${index}`,
    wrapped_key: null,
  }));
  await collection.insertMany(copies as never[]);
}
