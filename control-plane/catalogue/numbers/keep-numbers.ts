/**
 * What numbers need without anyone asking: purchases that a crash cut short are brought to an end, and each
 * day's rent is taken.
 */
import { type ChoreLoop, startChoreLoop } from '../../platform/background/chore-loop.ts';
import { type Context, now } from '../../platform/context.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import { countHolder } from '../../platform/store/places.ts';
import { dayOf, finishAbandoned, finishProvisioning, numberPlacesOf, rentKey } from './number-store.ts';

const TICK_MS = 60_000;
/** What another process may still be buying is left alone for this long. */
const GRACE_MS = 60_000;
const BATCH = 500;

/** Starts keeping numbers: at once, then every minute, in every replica. */
export function startNumberKeeper(context: Context): ChoreLoop {
  // Alone at its start, a process knows that nobody is still buying.
  let graceMs = context.settings.REDIS_URL === undefined ? 0 : GRACE_MS;
  const startedAt = now(context);
  return startChoreLoop(context, { name: 'numbers', everyMs: TICK_MS }, async () => {
    const before = graceMs === 0 ? startedAt : new Date(context.clock.wallTime() - graceMs);
    graceMs = GRACE_MS;
    await keepNumbers(context, before);
  });
}

/** One pass; purchases begun before `before` are nobody's any more. */
export async function keepNumbers(context: Context, before: Date): Promise<void> {
  const { numbers } = context.models;
  const unfinished = await numbers
    .find({ status: 'provisioning', created_at: { $lt: before } })
    .limit(BATCH)
    .lean<NumberDocument[]>();
  const abandoned = await numbers.find({ is_abandoned: true }).limit(BATCH).lean<NumberDocument[]>();
  for (const number of [...unfinished, ...abandoned]) {
    try {
      await (number.is_abandoned ? finishAbandoned(context, number) : finishProvisioning(context, number));
    } catch (error) {
      // A carrier that cannot be asked today must not hold up the others, nor the rent.
      context.logger.warn(
        { err: error, phone_number_id: number._id },
        'an unfinished purchase could not be settled',
      );
    }
  }
  const today = dayOf(now(context));
  const due = await numbers
    .find({ status: 'active', rent_day: { $gt: '', $lt: today } })
    .limit(BATCH)
    .lean<NumberDocument[]>();
  for (const number of due) await takeRent(context, number, today);
}

/** Rent has no floor: a number is not lost because a wallet ran empty. */
async function takeRent(context: Context, number: NumberDocument, day: string): Promise<void> {
  const price = context.settings.PRICE_NUMBER_PER_DAY;
  if (price > 0)
    await context.ledger.post({
      userId: number.user_id,
      key: rentKey(number._id, day),
      kind: 'settle',
      amountMicros: -price,
    });
  // Bought by a replica of an older release, it was not counted.
  await countHolder(context, numberPlacesOf(number.team_id), number._id);
  await context.models.numbers.updateOne(
    { _id: number._id, rent_day: number.rent_day },
    { $set: { rent_day: day } },
  );
}
