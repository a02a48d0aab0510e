/**
 * Adds ended calls to the stored sums, each exactly once, although a process may die between any two writes
 * and several may count at the same time. Sums and sessions are in different documents, so each says what it
 * knows of the other: sums list the calls added lately, a session says how many of its turns are counted. A
 * call leaves the list only once its session says so.
 */
import { type Context, now } from '../../platform/context.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import {
  type CallCountDocument,
  COUNT_SPANS,
  type CountSpan,
  countId,
  type RecentCall,
} from '../../platform/store/models/call-count-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { readStored } from '../../platform/store/read-stored.ts';
import { hasEnded } from '../../platform/store/session-status.ts';
import { COUNTED_FIELDS, type CountedCall, Tally } from './summarise-calls.ts';

/**
 * Sums list a call for at least this long: a question reads the calls that are not counted, then the sums,
 * and finds here which were counted in between.
 */
export const RECENT_MS = 20_000;

/** Sums that are stored at the same time: the embedded database stores those of one moment together. */
const AT_ONCE = 20;

/** The fields that place a session among the sums; they never change. */
export type CallPlace = Pick<SessionDocument, '_id' | 'team_id' | 'agent_id' | 'created_at'>;

/** A session with what its sums are made of. */
type Countable = CountedCall & CallPlace & Pick<SessionDocument, 'is_listed' | 'counted_turns'>;

const COUNTABLE_FIELDS = { ...COUNTED_FIELDS, team_id: 1, is_listed: 1, counted_turns: 1 } as const;

type Parts = Pick<Context, 'models' | 'clock'>;

/** The fields that a change may set. */
type Counts = Omit<CallCountDocument, '_id' | 'rev'>;

interface Change {
  readonly id: string;
  /** Null if there are no such sums yet. */
  readonly before: CallCountDocument | null;
  readonly after: Counts;
}

/** The outcome of counting. */
interface Counted {
  /** Number of sessions that now say that they are counted. */
  readonly marked: number;
  /** Ids of the sums that list recent calls. */
  readonly listing: readonly string[];
}

const SPANS = Object.keys(COUNT_SPANS) as CountSpan[];

/**
 * Adds the ended ones of these calls to the sums, if they are not included yet, and says so in their
 * sessions. Shortens the lists of recent calls, also of the sums with these `ids`. A conflict with another
 * process, or a turn that comes meanwhile, leaves a session as it is for the next time. `at` is the time
 * noted with the calls.
 */
export async function countCalls(
  context: Parts,
  calls: readonly CallPlace[],
  { ids = [], at = now(context) }: { readonly ids?: readonly string[]; readonly at?: Date } = {},
): Promise<Counted> {
  const time = now(context);
  // The sums first: if another process adds calls meanwhile, their `rev` changes.
  const sums = await readSums(context, [...new Set([...calls.flatMap(sumsOf), ...ids])]);
  const sessions = await readSessions(context, calls, sums, time);
  const ended = calls.flatMap(({ _id }) => sessions.get(_id) ?? []).filter(isCounted);
  const changes = [...bySums(ended, sums)].flatMap(([id, theirs]) => {
    const before = sums.get(id) ?? null;
    const after = withCalls(before, theirs, at);
    const recent = after?.recent.filter((call) => isKept(call, sessions, time));
    return after && recent ? { id, before, after: { ...after, recent } } : [];
  });
  const stored = new Set<string>();
  for (let first = 0; first < changes.length; first += AT_ONCE)
    await Promise.all(
      changes.slice(first, first + AT_ONCE).map(async (change) => {
        if (await store(context, change)) stored.add(change.id);
      }),
    );
  const included = ended.filter((call) => sumsOf(call).every((id) => stored.has(id)));
  const listing = changes.flatMap(({ id, after }) => (after.recent.length > 0 ? id : []));
  return { marked: await mark(context, included), listing };
}

function sumsOf({ team_id, agent_id, created_at }: CallPlace): string[] {
  return SPANS.map((span) => countId(team_id, span, agent_id, created_at.getTime()));
}

/** The calls of each sums; none for those whose list may only become shorter. */
function bySums(calls: readonly Countable[], sums: ReadonlyMap<string, unknown>): Map<string, Countable[]> {
  const groups = new Map<string, Countable[]>([...sums.keys()].map((id) => [id, []]));
  for (const call of calls) for (const id of sumsOf(call)) groups.set(id, [...(groups.get(id) ?? []), call]);
  return groups;
}

async function readSums(
  { models }: Parts,
  ids: readonly string[],
): Promise<ReadonlyMap<string, CallCountDocument>> {
  if (ids.length === 0) return new Map();
  const found = await readStored<CallCountDocument>(models.callCounts, { _id: { $in: ids } }, {});
  return new Map(found.map((sums) => [sums._id, sums]));
}

/** These sessions, and those that the sums have listed for long. */
async function readSessions(
  { models }: Parts,
  calls: readonly CallPlace[],
  sums: ReadonlyMap<string, CallCountDocument>,
  at: Date,
): Promise<ReadonlyMap<string, Countable>> {
  const listed = [...sums.values()].flatMap(({ recent }) => recent.filter((call) => isOld(call, at)));
  const ids = [...new Set([...calls.map(({ _id }) => _id), ...listed.map(({ id }) => id)])];
  if (ids.length === 0) return new Map();
  const found = await readStored<SessionDocument, Countable>(
    models.sessions,
    { _id: { $in: ids } },
    { projection: COUNTABLE_FIELDS },
  );
  return new Map(found.map((session) => [session._id, session]));
}

function isCounted({ is_listed, status }: Countable): boolean {
  return is_listed && hasEnded(status);
}

function isOld({ at }: RecentCall, now: Date): boolean {
  return now.getTime() - at.getTime() > RECENT_MS;
}

function isListedLong(call: RecentCall | undefined, at: Date): boolean {
  return call !== undefined && isOld(call, at);
}

/** A listed call is kept while it is new, or while its session does not say that it is counted. */
function isKept(call: RecentCall, sessions: ReadonlyMap<string, Countable>, at: Date): boolean {
  if (!isOld(call, at)) return true;
  const session = sessions.get(call.id);
  return session !== undefined && (session.counted_turns ?? -1) < call.turns;
}

/** The sums with what they lack of these calls; null if there are neither. */
function withCalls(before: CallCountDocument | null, calls: readonly Countable[], at: Date): Counts | null {
  const recent = new Map(before?.recent.map((call) => [call.id, call]));
  const tally = new Tally();
  if (before) tally.addStored(before.sums);
  let newest: Pick<CallCountDocument, 'agent_id' | 'agent_name' | 'newest_at'> | null = before;
  let isChanged = false;
  for (const call of calls) {
    const { _id, agent_id, agent_name, created_at, turns = [] } = call;
    const listed = recent.get(_id);
    const counted = Math.max(call.counted_turns ?? -1, listed?.turns ?? -1);
    if (!newest || created_at > newest.newest_at) newest = { agent_id, agent_name, newest_at: created_at };
    // One listed long ago is listed anew: its mark is removed only now, and a question may have read it.
    if (counted >= turns.length && !isListedLong(listed, at)) continue;
    tally.add(call, counted < 0 ? null : counted);
    recent.set(_id, { id: _id, turns: Math.max(counted, turns.length), at });
    isChanged = true;
  }
  if (!newest) return null;
  const { agent_id, agent_name, newest_at } = newest;
  const sums = before && !isChanged ? before.sums : tally.stored();
  return { agent_id, agent_name, newest_at, sums, recent: [...recent.values()] };
}

/** Stores the sums, unless nothing has changed; false if another process has changed them meanwhile. */
async function store({ models }: Parts, { id, before, after }: Change): Promise<boolean> {
  const { collection } = models.callCounts;
  if (before?.sums === after.sums && before.recent.length === after.recent.length) return true;
  if (before) {
    const change = { $set: { ...after, rev: before.rev + 1 } };
    const { matchedCount } = await collection.updateOne({ _id: id as never, rev: before.rev }, change);
    return matchedCount === 1;
  }
  try {
    await collection.insertOne({ _id: id, ...after, rev: 1 } as never);
    return true;
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    return false;
  }
}

/** Says in the sessions that they are counted, unless a turn has come meanwhile. Returns in how many. */
async function mark({ models }: Parts, calls: readonly Countable[]): Promise<number> {
  if (calls.length === 0) return 0;
  const marks = calls.map(({ _id, turns = [] }) => ({
    updateOne: {
      filter: { _id, [`turns.${turns.length}`]: { $exists: false } },
      update: { $set: { counted_turns: turns.length }, $unset: { uncounted: '' } },
    },
  }));
  const { matchedCount } = await models.sessions.collection.bulkWrite(marks as never, { ordered: false });
  return matchedCount;
}
