/** Reserves a worker slot for a session, unless the account would take the last free slots from others. */
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import type { JobOffer, Placement } from '../../platform/dispatch.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { outsideRequest, waitForDatabase } from '../../platform/store/request-wait.ts';
import { dueIn } from '../../platform/store/session-due.ts';
import { LIVE_STATUSES } from '../../platform/store/session-status.ts';
import { isLastTenth, mayTakeLast } from '../workers/slots.ts';

/** By this time a placed session is always stored with its worker. */
const STORED_AFTER_MS = 10_000;
/**
 * A tally of all accounts' slots reads every session that holds one, and refused clients retry often. So one
 * tally is taken at a time, at most once a second unless it fails, and requests use the one before meanwhile.
 * Without a usable one they wait. Placements of other replicas count as late as that.
 */
const TALLY_MS = { fresh: 1_000, usable: 5_000 };
const RETRY_SECONDS = 10;

type Parts = Pick<Context, 'dispatch' | 'models' | 'clock'>;

/** An account and its own team. */
type Account = Pick<SessionDocument, 'user_id' | 'team_id'>;

/** A session this process is placing or has just placed. */
interface PendingPlacement {
  readonly userId: string;
  /** When a worker accepted it. */
  takenMs: number | null;
}

/** The stored slot counts at one moment, excluding sessions that were being placed then. */
interface Tally {
  readonly atMs: number;
  readonly stored: Promise<{ readonly slots: ReadonlyMap<string, number>; readonly accounts: number }>;
  /** The next one is being taken. */
  isBeingReplaced: boolean;
}

/** Slot data of this process; tallies are keyed by the set of workers they cover. */
interface SlotBook {
  readonly placing: Map<string, PendingPlacement>;
  readonly tallies: Map<string, Tally>;
}

const bookOf = new WeakMap<Context['models'], SlotBook>();

/**
 * Throws `share_of_workers` when a session of this account would be refused now. Cheaper than `placeFairly`
 * because nothing has been stored or charged yet; it reserves nothing.
 */
export async function requireShare(context: Parts, kind: JobOffer['kind'], account: Account): Promise<void> {
  const book = openBook(context);
  await refuseLastTenth(context, book, { kind, account, others: [...book.placing.values()] });
}

/** Places a session of this account. Throws `share_of_workers` and whatever `Dispatch.place` throws. */
export async function placeFairly(context: Parts, offer: JobOffer, account: Account): Promise<Placement> {
  const book = openBook(context);
  const { placing } = book;
  const others = [...placing.values()];
  const own: PendingPlacement = { userId: account.user_id, takenMs: null };
  placing.set(offer.sessionId, own);
  try {
    await refuseLastTenth(context, book, { kind: offer.kind, account, others, own });
    const placement = await context.dispatch.place(offer);
    own.takenMs = context.clock.now();
    return placement;
  } catch (error) {
    placing.delete(offer.sessionId);
    throw error;
  }
}

function openBook({ models, clock }: Parts): SlotBook {
  const book = bookOf.get(models) ?? {
    placing: new Map<string, PendingPlacement>(),
    tallies: new Map<string, Tally>(),
  };
  bookOf.set(models, book);
  forgetOldEntries(book, clock.now());
  return book;
}

interface SlotRequest {
  readonly kind: JobOffer['kind'];
  readonly account: Account;
  /** Other sessions being placed at the time of this request. */
  readonly others: readonly PendingPlacement[];
  /** Its own entry among them, once it has one. */
  readonly own?: PendingPlacement;
}

async function refuseLastTenth(
  context: Parts,
  book: SlotBook,
  { kind, account, others, own }: SlotRequest,
): Promise<void> {
  const { capacity, free, instanceIds } = context.dispatch.slots(kind);
  const asking = others.filter(({ takenMs }) => takenMs === null).length;
  // An account without any slot is never refused.
  if (!isLastTenth({ capacity, free }, asking) || !(await holdsAny(context, account, others))) return;
  const { held, accounts } = await heldSlots(context, book, { instanceIds, except: own });
  if (!mayTakeLast(account.user_id, held, accounts))
    throw fault('share_of_workers', { seconds: RETRY_SECONDS });
}

function forgetOldEntries({ placing, tallies }: SlotBook, nowMs: number): void {
  for (const [id, { takenMs }] of placing)
    if (takenMs !== null && nowMs - takenMs > STORED_AFTER_MS + TALLY_MS.usable) placing.delete(id);
  for (const [workers, { atMs }] of tallies) if (nowMs - atMs >= TALLY_MS.usable) tallies.delete(workers);
}

/** The count is answered from the index without reading sessions. */
async function holdsAny(
  { models }: Parts,
  { user_id: userId, team_id }: Account,
  placing: readonly PendingPlacement[],
): Promise<boolean> {
  if (placing.some((other) => other.userId === userId)) return true;
  return (await models.sessions.countDocuments({ team_id, status: { $in: [...LIVE_STATUSES] } })) > 0;
}

/** Which slots to count: those on these workers and those being placed, except one. */
interface SlotSelection {
  readonly instanceIds: readonly string[];
  readonly except: PendingPlacement | undefined;
}

/** Slots per account, including sessions being placed, and the number of accounts. */
async function heldSlots(context: Parts, book: SlotBook, { instanceIds, except }: SlotSelection) {
  const { atMs, stored } = tallyOf(context, book, instanceIds);
  const { slots, accounts } = await waitForDatabase(() => stored);
  const held = new Map(slots);
  for (const other of book.placing.values()) {
    if (other !== except && isMissingIn(atMs, other))
      held.set(other.userId, (held.get(other.userId) ?? 0) + 1);
  }
  return { held, accounts };
}

function tallyOf(context: Parts, { placing, tallies }: SlotBook, instanceIds: readonly string[]): Tally {
  const workers = instanceIds.join();
  const known = tallies.get(workers);
  const atMs = context.clock.now();
  if (known && (known.isBeingReplaced || atMs - known.atMs < TALLY_MS.fresh)) return known;
  const tally: Tally = {
    atMs,
    // Shared with later requests, whose limits end later.
    stored: outsideRequest(() =>
      countStored(
        context,
        instanceIds,
        [...placing].filter(([, other]) => isMissingIn(atMs, other)).map(([id]) => id),
      ),
    ),
    isBeingReplaced: false,
  };
  if (!known) {
    tallies.set(workers, tally);
    tally.stored.catch(() => {
      if (tallies.get(workers) === tally) tallies.delete(workers);
    });
    return tally;
  }
  known.isBeingReplaced = true;
  tally.stored.then(
    () => {
      if (tallies.get(workers) === known) tallies.set(workers, tally);
    },
    () => {
      known.isBeingReplaced = false;
    },
  );
  return known;
}

/**
 * Whether a tally taken at this time omits the placement, because it may not have been stored then. Such an
 * entry is kept in memory for as long as the tally is used.
 */
function isMissingIn(tallyMs: number, { takenMs }: PendingPlacement): boolean {
  return takenMs === null || takenMs > tallyMs - STORED_AFTER_MS;
}

async function countStored(
  { models }: Parts,
  instanceIds: readonly string[],
  leftOut: readonly string[],
): Promise<Awaited<Tally['stored']>> {
  const [slots, accounts] = await Promise.all([
    models.sessions.aggregate<{ _id: string; slots: number }>([
      {
        $match: {
          ...dueIn('live'),
          'worker.instance_id': { $in: instanceIds },
          status: { $in: [...LIVE_STATUSES] },
          _id: { $nin: leftOut },
        },
      },
      { $group: { _id: '$user_id', slots: { $sum: 1 } } },
    ]),
    models.users.estimatedDocumentCount(),
  ]);
  return { slots: new Map(slots.map((each) => [each._id, each.slots])), accounts };
}
