/**
 * Implements the ledger. A wallet consists only of its entries, and a posting is one insert checked by two
 * unique indexes, so a crash leaves nothing to recover. Within a process, postings of one user are
 * serialised; between processes, the loser of an index conflict retries.
 */
import type { Clock } from '#base/clock.ts';
import { fault } from '#config/errors.ts';
import type { Ledger, LedgerEntry, LedgerFlaw, Posting } from '../../platform/ledger.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import { insertDocument } from '../../platform/store/insert-documents.ts';
import type { LedgerDocument } from '../../platform/store/models/ledger-model.ts';
import type { Models } from '../../platform/store/models.ts';
import { DatabaseWaitError, waitForDatabase } from '../../platform/store/request-wait.ts';

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
  const queues = new Map<string, Promise<unknown>>();
  const newestKnown: NewestEntries = new Map();
  return {
    post: (posting) => {
      const previous = queues.get(posting.userId) ?? Promise.resolve();
      let isAwaited = true;
      const takeTurn = () => {
        if (!isAwaited) throw new DatabaseWaitError();
        return postOnce(deps, newestKnown, posting);
      };
      const next = previous.then(takeTurn, takeTurn);
      queues.set(posting.userId, next);
      const forget = () => {
        if (queues.get(posting.userId) === next) queues.delete(posting.userId);
      };
      next.then(forget, forget);
      // The postings before it may wait for the database, each with a limit of its own.
      return waitForDatabase(() => next).finally(() => {
        isAwaited = false;
      });
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

async function postOnce(
  deps: LedgerDeps,
  newestKnown: NewestEntries,
  posting: Posting,
): Promise<LedgerEntry> {
  const { userId, key } = posting;
  if (!Number.isSafeInteger(posting.amountMicros))
    throw new Error('an amount must be an integer of micro-dollars');
  const known = newestKnown.get(userId);
  // The cached entry may be stale. A stale one makes the insert fail; a refusal for lack of credit is always
  // based on a fresh read.
  const first =
    known && isAboveFloor(known, posting)
      ? await insert(deps, newestKnown, entryAfter(known, posting, deps.clock))
      : null;
  if (first) return first;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const [posted, newest] = await Promise.all([
      deps.entries.findOne({ user_id: userId, key }).lean<LedgerDocument>(),
      newestEntry(deps, userId),
    ]);
    if (posted) return view(posted);
    if (!isAboveFloor(newest, posting)) throw fault('out_of_credit');
    const entry = await insert(deps, newestKnown, entryAfter(newest, posting, deps.clock));
    if (entry) return entry;
  }
  throw new Error('wallet contention');
}

/** Inserts an entry; null when its seq is taken or the posting already exists. */
async function insert(
  deps: LedgerDeps,
  newestKnown: NewestEntries,
  entry: LedgerDocument,
): Promise<LedgerEntry | null> {
  newestKnown.delete(entry.user_id);
  try {
    await insertDocument(deps.entries, entry);
  } catch (error) {
    if (isDuplicateKey(error)) return null;
    throw error;
  }
  newestKnown.set(entry.user_id, entry);
  for (const oldest of newestKnown.keys()) {
    if (newestKnown.size <= MAX_KNOWN) break;
    newestKnown.delete(oldest);
  }
  const posted = view(entry);
  deps.posted?.(posted);
  return posted;
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
