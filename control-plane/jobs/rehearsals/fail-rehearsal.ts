/** Ends a rehearsal that no repetition can mend. */
import { type Context, now } from '../../platform/context.ts';
import type { RehearsalDocument } from '../../platform/store/models/rehearsal-model.ts';

/** After so many errors in a row a further one is to be expected. */
const MOST_FAILURES = 3;
const INTERNAL = 'It failed several times in a row because of an internal error: the log has the cause';

/** Fails at once: the calls, or the draft, are the cause. The message says what to change. */
export class Unmendable extends Error {}

/** Counts an error, and fails the rehearsal with its reason after some in a row. */
export async function failAfterErrors(
  context: Context,
  own: Readonly<Record<string, unknown>>,
  error: unknown,
): Promise<void> {
  const { rehearsals } = context.models;
  const counted = await rehearsals
    .findOneAndUpdate(own as never, { $inc: { failures: 1 } } as never, { returnDocument: 'after' })
    .lean<RehearsalDocument>();
  const failures = counted?.failures ?? 0;
  if (!(error instanceof Unmendable) && failures < MOST_FAILURES) return;
  await failRehearsal(context, own, error instanceof Unmendable ? error.message : INTERNAL);
}

/** Fails a rehearsal that this process has. */
export async function failRehearsal(
  context: Context,
  own: Readonly<Record<string, unknown>>,
  error: string,
): Promise<void> {
  const ended = { status: 'failed', error, finished_at: now(context), lease_until: null, draft: '' };
  const { matchedCount } = await context.models.rehearsals.updateOne(own as never, { $set: ended } as never);
  if (matchedCount === 0) return;
  await context.models.rehearsals.updateOne(
    { _id: own['_id'], judge: { $exists: true } } as never,
    { $set: { 'judge.draft': '' } } as never,
  );
  context.metrics.rehearsalsEnded.inc({ outcome: 'failed' });
  context.logger.warn({ rehearsalId: own['_id'], reason: error }, 'rehearsal failed');
}
