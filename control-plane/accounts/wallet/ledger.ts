/**
 * Implements the ledger. A wallet consists only of its entries, and postings are inserts checked by two
 * unique indexes, so a crash leaves nothing to recover. Within a process, postings of one user that wait for
 * one another are inserted together; between processes, the loser of an index conflict retries.
 */
import type { Clock } from '#base/clock.ts';
import { fault } from '#config/errors.ts';
import type { Ledger, LedgerEntry, LedgerFlaw, Posting } from '../../platform/ledger.ts';
import { insertInOrder } from '../../platform/store/insert-documents.ts';
import type { LedgerDocument } from '../../platform/store/models/ledger-model.ts';
import type { Models } from '../../platform/store/models.ts';
import { type PendingPosting, PostingQueue } from './posting-queue.ts';

/** Few processes post to one wallet at the same time; more rounds than this indicate a fault. */
const MAX_ROUNDS = 200;
/** Number of wallets whose newest entry is cached, which makes a posting one insert without a read. */
const MAX_KNOWN = 10_000;

/** Dependencies of the ledger. */
export interface LedgerDeps {
  readonly entries: Models['ledger'];
  readonly clock: Clock;
  /** Called with every new entry. */
  posted?(entry: LedgerEntry): void;
}

type NewestEntries = Map<string, LedgerDocument>;

/** Creates the ledger on its collection. */
export function createLedger(deps: LedgerDeps): Ledger {
  const newestKnown: NewestEntries = new Map();
  const queue = new PostingQueue(deps.clock, (batch) => postAll(deps, newestKnown, batch));
  return {
    post: async (posting) => {
      if (!Number.isSafeInteger(posting.amountMicros))
        throw new Error('an amount must be an integer of micro-dollars');
      return queue.add(posting);
    },
    newest: async (userId) => {
      const newest = await newestEntry(deps, userId);
      return newest && view(newest);
    },
    wallet: async (userId) => {
      const newest = await newestEntry(deps, userId);
      if (!newest) return null;
      const first =
        newest.seq === 1
          ? newest
          : await deps.entries.findOne({ user_id: userId, seq: 1 }).lean<LedgerDocument>();
      return { first: view(first ?? newest), newest: view(newest) };
    },
    verify: (userId) => verify(deps, userId),
  };
}

/** The postings that are not settled yet, by key: all of one key get its one entry. */
type Unsettled = Map<string, PendingPosting[]>;

/** Posts for one user, in order. */
async function postAll(
  deps: LedgerDeps,
  newestKnown: NewestEntries,
  batch: readonly PendingPosting[],
): Promise<void> {
  const left: Unsettled = Map.groupBy(batch, ({ posting }) => posting.key);
  const userId = batch[0]?.posting.userId ?? '';
  const known = newestKnown.get(userId);
  // The cached entry may be stale. A stale one makes the insert fail; a refusal for lack of credit is always
  // based on a fresh read.
  if (known) await insert(deps, newestKnown, entriesAfter(known, left, deps.clock), left);
  for (let round = 0; left.size > 0; round++) {
    if (round === MAX_ROUNDS) throw new Error('wallet contention');
    await postAnew(deps, newestKnown, userId, left);
  }
}

/** Reads what is stored, and posts after that what is not; refuses at most one posting. */
async function postAnew(
  deps: LedgerDeps,
  newestKnown: NewestEntries,
  userId: string,
  left: Unsettled,
): Promise<void> {
  const newest = await newestEntry(deps, userId);
  // Read last: a posting that is stored is never refused.
  const keys = { user_id: userId, key: { $in: [...left.keys()] } };
  for (const entry of await deps.entries.find(keys).lean<LedgerDocument[]>()) settle(left, entry);
  const entries = entriesAfter(newest, left, deps.clock);
  if (entries.length > 0) await insert(deps, newestKnown, entries, left);
  else refuseFirst(left);
}

/** The entries of these postings after `newest`, up to the first that the credit does not cover. */
function entriesAfter(
  newest: LedgerDocument | null,
  left: Unsettled,
  clock: Clock,
): readonly LedgerDocument[] {
  const entries: LedgerDocument[] = [];
  for (const [pending] of left.values()) {
    const last = entries.at(-1) ?? newest;
    if (!pending || !isAboveFloor(last, pending.posting)) break;
    entries.push(entryAfter(last, pending.posting, clock));
  }
  return entries;
}

/** The first posting lacks credit. Others of its key may have another amount. */
function refuseFirst(left: Unsettled): void {
  for (const [key, [first, ...others]] of left) {
    first?.reject(fault('out_of_credit'));
    if (others.length > 0) left.set(key, others);
    else left.delete(key);
    return;
  }
}

/** Inserts entries, up to the first whose seq is taken or whose posting already exists; settles these. */
async function insert(
  deps: LedgerDeps,
  newestKnown: NewestEntries,
  entries: readonly LedgerDocument[],
  left: Unsettled,
): Promise<void> {
  const [first] = entries;
  if (!first) return;
  newestKnown.delete(first.user_id);
  const stored = entries.slice(0, await insertInOrder(deps.entries, entries));
  for (const entry of stored) {
    settle(left, entry);
    deps.posted?.(view(entry));
  }
  if (stored.length === entries.length) remember(newestKnown, entries.at(-1) ?? first);
}

function remember(newestKnown: NewestEntries, entry: LedgerDocument): void {
  newestKnown.set(entry.user_id, entry);
  for (const oldest of newestKnown.keys()) {
    if (newestKnown.size <= MAX_KNOWN) break;
    newestKnown.delete(oldest);
  }
}

function settle(left: Unsettled, entry: LedgerDocument): void {
  for (const { resolve } of left.get(entry.key) ?? []) resolve(view(entry));
  left.delete(entry.key);
}

function isAboveFloor(newest: LedgerDocument | null, { amountMicros, floorMicros }: Posting): boolean {
  return floorMicros === undefined || (newest?.balance ?? 0) + amountMicros >= floorMicros;
}

/** Builds the entry for a posting that follows `newest`. */
function entryAfter(newest: LedgerDocument | null, posting: Posting, clock: Clock): LedgerDocument {
  const { userId, key, kind, amountMicros } = posting;
  const last = newest ?? { seq: 0, balance: 0, cumulative_top_up: 0 };
  const seq = last.seq + 1;
  return {
    _id: `${userId}:${seq}`,
    user_id: userId,
    seq,
    key,
    kind,
    amount: amountMicros,
    balance: last.balance + amountMicros,
    cumulative_top_up: last.cumulative_top_up + (kind === 'top_up' ? amountMicros : 0),
    at: new Date(clock.wallTime()),
  };
}

/** Reads a user's whole ledger and checks that each balance equals the sum of the amounts so far. */
async function verify(deps: LedgerDeps, userId: string): Promise<LedgerFlaw | null> {
  let balance = 0;
  let topUps = 0;
  let seq = 0;
  for await (const entry of deps.entries
    .find({ user_id: userId })
    .sort({ seq: 1 })
    .lean<LedgerDocument[]>()
    .cursor()) {
    seq += 1;
    balance += entry.amount;
    if (entry.kind === 'top_up') topUps += entry.amount;
    if (entry.seq !== seq) return { userId, seq: entry.seq, problem: `follows entry ${seq - 1}` };
    if (entry.balance !== balance)
      return { userId, seq, problem: `balance ${entry.balance} is not the sum ${balance}` };
    if (entry.cumulative_top_up !== topUps)
      return { userId, seq, problem: `top-ups ${entry.cumulative_top_up} are not the sum ${topUps}` };
  }
  return null;
}

function newestEntry(deps: LedgerDeps, userId: string): Promise<LedgerDocument | null> {
  return deps.entries.findOne({ user_id: userId }).sort({ seq: -1 }).lean<LedgerDocument>();
}

function view(entry: LedgerDocument): LedgerEntry {
  return {
    userId: entry.user_id,
    seq: entry.seq,
    key: entry.key,
    kind: entry.kind,
    amountMicros: entry.amount,
    balanceMicros: entry.balance,
    cumulativeTopUpMicros: entry.cumulative_top_up,
    at: entry.at,
  };
}
