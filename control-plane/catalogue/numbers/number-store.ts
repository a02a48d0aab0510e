/**
 * Phone numbers in the store: buy, import, bind and release. A purchase first writes its intent (status
 * `provisioning` under the unique index of occupied numbers), then charges the first day, then buys.
 */
import { utcDay } from '#base/utc-day.ts';
import { Fault, fault } from '#config/errors.ts';
import { numberOf } from '#telephony/sip-address.ts';
import { type Context, now } from '../../platform/context.ts';
import type { Caller } from '../../platform/http/auth.ts';
import type { Left } from '../../platform/http/once-per-key.ts';
import { type CountedPlaces, freePlace, takePlace } from '../../platform/store/counted-places.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import { type NumberDocument, OCCUPYING_STATUSES } from '../../platform/store/models/number-model.ts';
import { newNumber } from './new-number.ts';

/** Maximum duration of a purchase. */
const PURCHASE_MS = 60_000;
/**
 * If the carrier did not answer a purchase but the number was bought, the carrier lists it within this time.
 */
const BOOKING_TIMEOUT_MS = 60 * 60_000;

/** Maximum number of unproven claims to one number that are checked for a call. */
const MAX_HOLDERS = 200;

/** The number a caller requests. */
export interface NumberRequest {
  /** Id of its record. */
  readonly id: string;
  readonly phoneNumber: string;
  readonly label: string;
  readonly agentId: string | null;
}

/** Finds a team's number that has not been released. Throws `not_found`. */
export async function findNumber(
  context: Context,
  teamId: string,
  numberId: string,
): Promise<NumberDocument> {
  const number = await context.models.numbers
    .findOne({ _id: numberId, team_id: teamId, status: { $ne: 'released' } })
    .lean<NumberDocument>();
  if (!number) throw fault('not_found');
  return number;
}

/**
 * Finds the numbers a call may be for, whatever the dialled format; empty if there are none. A proven number
 * is returned alone; unproven claims are sorted by import time, oldest first.
 */
export async function findCalledNumbers(
  context: Pick<Context, 'models' | 'caches'>,
  dialed: string,
): Promise<readonly NumberDocument[]> {
  const phoneNumber = numberOf(dialed);
  if (phoneNumber === null) return [];
  return (
    (await context.caches.calledNumbers(phoneNumber, () => readCalledNumbers(context, phoneNumber))) ?? []
  );
}

async function readCalledNumbers(
  { models }: Pick<Context, 'models'>,
  phoneNumber: string,
): Promise<NumberDocument[]> {
  const called = { phone_number: phoneNumber, status: 'active' } as const;
  const held = await models.numbers
    .find(called)
    .sort({ created_at: 1, _id: 1 })
    .limit(MAX_HOLDERS)
    .lean<NumberDocument[]>();
  const isBeyond = held.length === MAX_HOLDERS && !held.some(({ is_proven }) => is_proven);
  const later = isBeyond
    ? await models.numbers.findOne({ ...called, is_proven: true }).lean<NumberDocument>()
    : null;
  const proven = later ?? held.find(({ is_proven }) => is_proven);
  return proven ? [proven] : held;
}

/**
 * The numbers that count as hosted here for a team: those proven by their holder and its own. Another team's
 * unproven claim does not count.
 */
export async function hostedNumbers(
  { models }: Pick<Context, 'models'>,
  teamId: string,
  phoneNumbers: readonly string[],
): Promise<Set<string>> {
  const occupied = { phone_number: { $in: [...phoneNumbers] }, status: { $in: [...OCCUPYING_STATUSES] } };
  const found = await models.numbers
    .find({ ...occupied, $or: [{ is_proven: true }, { team_id: teamId }] }, { phone_number: 1 })
    .lean();
  return new Set(found.map(({ phone_number }) => phone_number));
}

/** `hostedNumbers` for a single number. */
export async function isHosted(
  context: Pick<Context, 'models'>,
  teamId: string,
  phoneNumber: string,
): Promise<boolean> {
  return (await hostedNumbers(context, teamId, [phoneNumber])).size > 0;
}

/**
 * Buys a number and charges its first day. Throws `not_found`, `number_limit`, `number_taken`,
 * `out_of_credit`, `provider_refused`, `provider_unreachable`, `provider_silent` (the number stays
 * `provisioning`).
 */
export async function buyNumber(
  context: Context,
  caller: Caller,
  wanted: NumberRequest,
): Promise<NumberDocument> {
  const number = await occupy(context, caller, { wanted, provider: 'managed', sip: null });
  try {
    await chargeFirstDay(context, number);
  } catch (error) {
    await context.models.numbers.deleteOne({ _id: number._id, status: 'provisioning' });
    await freePlace(context, numberPlaces(context, caller).id, number._id);
    throw error;
  }
  let carrierNumberId: string;
  try {
    ({ carrierNumberId } = await context.carrier.buy(wanted.phoneNumber));
  } catch (error) {
    // Not refunded yet, because the number may have been bought. It is settled later like an interrupted
    // purchase.
    if (error instanceof Fault && error.code === 'provider_silent') throw error;
    await failPurchase(context, number, error instanceof Fault ? error.message : 'the purchase failed');
    throw error;
  }
  const bought = await settle(context, number, {
    status: 'active',
    carrier_number_id: carrierNumberId,
    rent_day: utcDay(number.created_at),
  });
  if (bought) return bought;
  // The purchase took so long that it was treated as interrupted: it was either found at the carrier and
  // completed, or not found and refunded.
  const finished = await context.models.numbers
    .findOne({ _id: number._id, status: 'active', carrier_number_id: carrierNumberId })
    .lean<NumberDocument>();
  if (finished) return finished;
  await context.carrier.release(carrierNumberId);
  throw fault('database_unavailable');
}

/**
 * Looks for the number of an interrupted purchase or import. `made` also if it has been released since;
 * `given_up` if it was not bought. Throws `idempotency_key_conflict` while the purchase may still be
 * completed.
 */
export async function leftByPurchase({ models }: Pick<Context, 'models'>, numberId: string): Promise<Left> {
  const number = await models.numbers.findById(numberId, { status: 1 }).lean<NumberDocument>();
  if (number?.status === 'provisioning') throw fault('idempotency_key_conflict');
  if (!number) return 'nothing';
  return number.status === 'error' ? 'given_up' : 'made';
}

/** Completes an interrupted purchase or import. Every step is idempotent. */
export async function finishProvisioning(context: Context, number: NumberDocument): Promise<void> {
  if (number.provider === 'sip') {
    await settle(context, number, { status: 'active' });
    return;
  }
  const bought = await context.carrier.findBought(number.phone_number);
  if (bought)
    await settle(context, number, {
      status: 'active',
      carrier_number_id: bought.carrierNumberId,
      rent_day: utcDay(number.created_at),
    });
  else await failPurchase(context, number, 'the purchase was interrupted');
}

/** Ledger key of a number's rent for one day. */
export function rentKey(numberId: string, day: string): string {
  return `n:${numberId}:${day}`;
}

async function chargeFirstDay(context: Context, number: NumberDocument): Promise<void> {
  const price = context.settings.PRICE_NUMBER_PER_DAY;
  // A price of 0 is never refused, whatever the balance.
  if (price === 0) return;
  const key = rentKey(number._id, utcDay(number.created_at));
  const entry = await context.ledger.post({
    userId: number.user_id,
    key,
    kind: 'hold',
    amountMicros: -price,
    floorMicros: 0,
  });
  if (entry.kind === 'void') throw fault('database_unavailable');
}

async function failPurchase(context: Context, number: NumberDocument, detail: string): Promise<void> {
  await refundFirstDay(context, number);
  await settle(context, number, { status: 'error', status_detail: detail });
}

/**
 * Posts a zero entry under the charge's key, which either blocks a late charge or returns the existing one,
 * and refunds that.
 */
async function refundFirstDay(context: Context, number: NumberDocument): Promise<void> {
  const key = rentKey(number._id, utcDay(number.created_at));
  const { amountMicros } = await context.ledger.post({
    userId: number.user_id,
    key,
    kind: 'void',
    amountMicros: 0,
  });
  if (amountMicros < 0)
    await context.ledger.post({
      userId: number.user_id,
      key: `${key}:refund`,
      kind: 'refund',
      amountMicros: -amountMicros,
    });
}

/** Changes a number. Throws `not_found` if it is released. */
export async function changeNumber(
  context: Context,
  number: NumberDocument,
  change: { [K in keyof NumberDocument]?: NumberDocument[K] | undefined },
): Promise<NumberDocument> {
  const saved = await context.models.numbers
    .findOneAndUpdate(
      { _id: number._id, status: { $ne: 'released' } },
      { $set: { ...change, updated_at: now(context) } },
      { returnDocument: 'after' },
    )
    .lean<NumberDocument>();
  if (!saved) throw fault('not_found');
  return saved;
}

/**
 * Imports a number that is reached over the caller's own SIP trunk, or over media streams of an account.
 * Throws `not_found`, `number_limit`, `number_taken`.
 */
export async function importNumber(
  context: Context,
  caller: Caller,
  wanted: NumberRequest,
  reached: Pick<NumberDocument, 'sip' | 'media_stream'>,
): Promise<NumberDocument> {
  const number = await occupy(context, caller, { wanted, provider: 'sip', ...reached });
  return (await settle(context, number, { status: 'active' })) ?? number;
}

/**
 * Releases a number, and returns it as it was. If the carrier refuses, the number is unchanged and can be
 * released again. Throws `not_found`, `conflict`, `provider_refused`, `provider_unreachable`.
 */
export async function releaseNumber(
  context: Context,
  teamId: string,
  numberId: string,
): Promise<NumberDocument> {
  const number = await findNumber(context, teamId, numberId);
  if (number.status === 'provisioning') {
    // Releasing a purchase in progress would leave an orphaned number at the carrier.
    const leftMs = number.created_at.getTime() + PURCHASE_MS - context.clock.wallTime();
    if (leftMs > 0)
      throw fault('conflict', {
        detail:
          'The purchase of this number is still in progress; try again in ' +
          `${Math.ceil(leftMs / 1_000)} s`,
      });
    await abandonPurchase(context, number);
    return number;
  }
  if (number.carrier_number_id !== '') await context.carrier.release(number.carrier_number_id);
  await context.models.numbers.updateOne(
    { _id: numberId },
    { $set: { status: 'released', agent_id: null, updated_at: now(context) } },
  );
  return number;
}

/**
 * Abandons a purchase the carrier has never answered: refunds it now, and releases the number if it turns out
 * to have been bought. Throws `conflict` when the purchase has just been settled.
 */
async function abandonPurchase(context: Context, number: NumberDocument): Promise<void> {
  if (!(await settle(context, number, { status: 'released', agent_id: null, is_abandoned: true })))
    throw fault('conflict', { detail: 'The purchase of this number has just been settled; read it again' });
  await refundFirstDay(context, number);
  await finishAbandoned(context, number).catch((error: unknown) => {
    context.logger.warn(
      { err: error, phone_number_id: number._id },
      'failed to check an abandoned purchase; it is checked again later',
    );
  });
}

/**
 * Checks with the carrier whether an abandoned purchase went through. Repeated for a while, because the
 * carrier may list the number late. Every step is idempotent.
 */
export async function finishAbandoned(context: Context, number: NumberDocument): Promise<void> {
  await refundFirstDay(context, number);
  const bought = await context.carrier.findBought(number.phone_number);
  // The number may have been bought here again since then.
  const isTaken = await context.models.numbers.exists({
    phone_number: number.phone_number,
    provider: 'managed',
    status: { $in: [...OCCUPYING_STATUSES] },
  });
  if (bought && !isTaken) await context.carrier.release(bought.carrierNumberId);
  else if (context.clock.wallTime() - number.updated_at.getTime() < BOOKING_TIMEOUT_MS) return;
  await context.models.numbers.updateOne({ _id: number._id }, { $unset: { is_abandoned: '' } });
}

/** Throws `not_found` unless the agent belongs to the team. */
export async function requireAgent(context: Context, teamId: string, agentId: string | null): Promise<void> {
  if (agentId !== null && !(await context.models.agents.exists({ _id: agentId, team_id: teamId })))
    throw fault('not_found');
}

async function occupy(
  context: Context,
  caller: Caller,
  { wanted, ...how }: { wanted: NumberRequest } & Pick<NumberDocument, 'provider' | 'sip' | 'media_stream'>,
): Promise<NumberDocument> {
  await requireAgent(context, caller.teamId, wanted.agentId);
  if (await isHosted(context, caller.teamId, wanted.phoneNumber)) throw fault('number_taken');
  const number = newNumber(
    {
      _id: wanted.id,
      team_id: caller.teamId,
      workspace_id: caller.workspaceId,
      user_id: caller.userId,
      phone_number: wanted.phoneNumber,
      ...how,
      label: wanted.label,
      agent_id: wanted.agentId,
      status: 'provisioning',
      // A purchase proves ownership.
      is_proven: how.provider === 'managed',
    },
    now(context),
  );
  const places = numberPlaces(context, caller);
  if (!(await takePlace(context, places, number._id)))
    throw fault('number_limit', { limit: caller.phoneNumberLimit });
  try {
    await context.models.numbers.create(number);
  } catch (error) {
    await freePlace(context, places.id, number._id);
    throw isDuplicateKey(error) ? fault('number_taken') : error;
  }
  return number;
}

/** Id of the list that counts a team's numbers. */
export function numberPlacesOf(teamId: string): string {
  return `numbers:${teamId}`;
}

function numberPlaces({ models }: Context, { teamId, phoneNumberLimit }: Caller): CountedPlaces {
  const occupying = { team_id: teamId, status: { $in: [...OCCUPYING_STATUSES] } };
  return {
    id: numberPlacesOf(teamId),
    limit: phoneNumberLimit,
    statesOf: async (ids) => {
      const stored = await models.numbers
        .find({ _id: { $in: ids } }, { status: 1 })
        .lean<Pick<NumberDocument, '_id' | 'status'>[]>();
      return new Map(
        stored.map(({ _id, status }) => [_id, (OCCUPYING_STATUSES as readonly string[]).includes(status)]),
      );
    },
    earlier: async () => (await models.numbers.find(occupying, { _id: 1 }).lean()).map(({ _id }) => _id),
  };
}

/** Ends the provisioning of a number; null when another process has already ended it. */
async function settle(
  context: Context,
  number: NumberDocument,
  change: Partial<NumberDocument>,
): Promise<NumberDocument | null> {
  return context.models.numbers
    .findOneAndUpdate(
      { _id: number._id, status: 'provisioning' },
      { $set: { ...change, updated_at: now(context) } },
      { returnDocument: 'after' },
    )
    .lean<NumberDocument>();
}
