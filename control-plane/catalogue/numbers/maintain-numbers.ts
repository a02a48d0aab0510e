/**
 * Background upkeep of phone numbers: completes purchases interrupted by a crash and charges the daily rent.
 */
import { utcDay } from '#base/utc-day.ts';
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import { type Context, now } from '../../platform/context.ts';
import { countHolder } from '../../platform/store/counted-places.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import { finishAbandoned, finishProvisioning, numberPlacesOf, rentKey } from './number-store.ts';

const TICK_MS = 60_000;
/** Purchases younger than this are left alone, because another process may still be working on them. */
const GRACE_MS = 60_000;
const BATCH = 500;

/** Starts the upkeep: at once, then every minute, in every replica. */
export function startNumberMaintenance(context: Context): BackgroundLoop {
  // Without other replicas, no purchase can be in progress at start-up.
  let graceMs = context.settings.REDIS_URL === undefined ? 0 : GRACE_MS;
  const startedAt = now(context);
  return startBackgroundLoop(context, { name: 'numbers', everyMs: TICK_MS }, async () => {
    const before = graceMs === 0 ? startedAt : new Date(context.clock.wallTime() - graceMs);
    graceMs = GRACE_MS;
    await maintainNumbers(context, before);
  });
}

/** Runs one pass; purchases begun before `before` count as interrupted. */
export async function maintainNumbers(context: Context, before: Date): Promise<void> {
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
      // A carrier that cannot be reached must not block other purchases or the rent.
      context.logger.warn(
        { err: error, phone_number_id: number._id },
        'failed to settle an unfinished purchase',
      );
    }
  }
  const today = utcDay(now(context));
  const due = await numbers
    .find({ status: 'active', rent_day: { $gt: '', $lt: today } })
    .limit(BATCH)
    .lean<NumberDocument[]>();
  for (const number of due) await takeRent(context, number, today);
}

/** Charges rent without a balance floor: an empty wallet does not lose its number. */
async function takeRent(context: Context, number: NumberDocument, day: string): Promise<void> {
  const price = context.settings.PRICE_NUMBER_PER_DAY;
  if (price > 0)
    await context.ledger.post({
      userId: number.user_id,
      key: rentKey(number._id, day),
      kind: 'settle',
      amountMicros: -price,
    });
  // A number bought by a replica with an older release has not been counted yet.
  await countHolder(context, numberPlacesOf(number.team_id), number._id);
  await context.models.numbers.updateOne(
    { _id: number._id, rent_day: number.rent_day },
    { $set: { rent_day: day } },
  );
}
