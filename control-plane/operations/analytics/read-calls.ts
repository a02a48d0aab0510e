/**
 * Reads the statistics of a range of time: ended calls from their stored sums, and from the sessions what the
 * sums lack: calls in progress, calls that ended a moment ago, and the ends of a range that are shorter than
 * the shortest sums. Exact at any moment; memory does not grow with the number of calls. Without sums, the
 * newest sessions are read, up to a limit.
 */
import type { Context } from '../../platform/context.ts';
import {
  type CallCountDocument,
  COUNT_SPANS,
  type CountSpan,
  countIdPrefix,
} from '../../platform/store/models/call-count-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { readStored } from '../../platform/store/read-stored.ts';
import { archivedMonths, type SessionCollection } from '../../platform/store/session-archive.ts';
import { ENDED_STATUSES, RUNNING_STATUSES } from '../../platform/store/session-status.ts';
import { areCountsComplete } from './call-counter.ts';
import { RECENT_MS } from './count-calls.ts';
import { COUNTED_FIELDS, type CountedCall, Summary } from './summarise-calls.ts';

/** Calls that the sums lack and that are kept in memory; with more, sessions are read instead. */
const MAX_UNCOUNTED = 10_000;
/** Sessions read for a question that the sums cannot answer. */
const MAX_SESSIONS = 50_000;
/** So long the sums still list calls that were counted during a question, with much to spare. */
const MAX_READ_MS = RECENT_MS / 4;
const SHORTEST: CountSpan = '5m';

/** A question; times are ms since 1970. */
export interface Question {
  readonly teamId: string;
  /** Of this agent only. */
  readonly agentId: string | undefined;
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
  /** Length of a bucket. */
  readonly stepMs: number;
}

/** A part of a range; without a span it is shorter than the sums, so its sessions are read. */
export interface Piece {
  readonly span: CountSpan | null;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A call that the sums lacked when it was read. */
interface Uncounted {
  readonly call: CountedCall;
  /** How many of its turns the sums have by now; null if they do not have the call. */
  turns: number | null;
}

type Found = CountedCall & Pick<SessionDocument, '_id' | 'counted_turns'>;

type Parts = Pick<Context, 'models' | 'clock'>;

/** An answer. */
export interface Answer {
  readonly summary: Summary;
  /** The sums could not answer, and there were more sessions than are read for one question. */
  readonly isTruncated: boolean;
}

/**
 * Answers a question. While the sums are incomplete or the store is too slow, from the newest `maxSessions`
 * sessions alone.
 */
export async function readCalls(
  context: Parts,
  question: Question,
  maxSessions = MAX_SESSIONS,
): Promise<Answer> {
  const summed = (await areCountsComplete(context)) ? await readSums(context, question) : null;
  if (summed) return { summary: summed, isTruncated: false };
  const summary = new Summary(question.stepMs);
  return {
    summary,
    isTruncated: await addSessions(context, question, { ...question, maxSessions }, summary),
  };
}

/** Divides a range into the longest stretches of time that have sums, and what remains at its ends. */
export function piecesOf(
  { fromMs, toMs }: Omit<Piece, 'span'>,
  [span, ...shorter]: readonly CountSpan[],
): Piece[] {
  if (fromMs >= toMs) return [];
  if (span === undefined) return [{ span: null, fromMs, toMs }];
  const length = COUNT_SPANS[span];
  const [first, last] = [Math.ceil(fromMs / length) * length, Math.floor(toMs / length) * length];
  if (first >= last) return piecesOf({ fromMs, toMs }, shorter);
  return [
    ...piecesOf({ fromMs, toMs: first }, shorter),
    { span, fromMs: first, toMs: last },
    ...piecesOf({ fromMs: last, toMs }, shorter),
  ];
}

/** Reads the sums; null if too much happens meanwhile. */
async function readSums(context: Parts, question: Question): Promise<Summary | null> {
  const { clock } = context;
  const spans = (Object.keys(COUNT_SPANS) as CountSpan[]).filter(
    (span) => COUNT_SPANS[span] <= question.stepMs,
  );
  const pieces = piecesOf(question, spans);
  const summed = pieces.filter(({ span }) => span !== null);
  const [first, last] = [summed[0], summed.at(-1)];
  if (!first || !last) return null;
  const lateMs = clock.now() + MAX_READ_MS;
  const isLate = () => clock.now() > lateMs;
  // Before the sums: a call that is counted in between is on their lists.
  const uncounted = await readUncounted(context, question, { fromMs: first.fromMs, toMs: question.toMs });
  if (!uncounted) return null;
  const reading = { summary: new Summary(question.stepMs), uncounted, isLate };
  for (const piece of summed) if (!(await addSums(context, question, piece, reading))) return null;
  const read: Piece[] = [];
  for (const piece of pieces.filter(({ span }) => span === null)) {
    const isSummed = piece.fromMs === last.toMs && (await addLastSums(context, question, piece, reading));
    if (!isSummed) read.push(piece);
  }
  addUncounted(reading, read);
  for (const piece of read) await addSessions(context, question, piece, reading.summary);
  return reading.summary;
}

/** Adds what the sums lack, but for the pieces whose sessions are read. */
function addUncounted({ summary, uncounted }: Reading, read: readonly Piece[]): void {
  for (const { call, turns } of uncounted.values())
    if (!read.some((piece) => isWithin(piece, call))) summary.addCall(call, turns);
}

function isWithin({ fromMs, toMs }: Piece, { created_at: at }: CountedCall): boolean {
  return at.getTime() >= fromMs && at.getTime() < toMs;
}

/**
 * Calls of the range that the sums lack, by session. The agent is not part of the queries: an index of its
 * sessions would fit them too, and has all that have ended.
 */
async function readUncounted(
  { models }: Parts,
  { teamId, agentId }: Question,
  { fromMs, toMs }: Omit<Piece, 'span'>,
): Promise<Map<string, Uncounted> | null> {
  const range = { team_id: teamId, created_at: { $gte: new Date(fromMs), $lt: new Date(toMs) } };
  const uncounted = new Map<string, Uncounted>();
  // First those in progress: one that ends meanwhile is found a second time, and replaced.
  const live = { ...range, status: { $in: [...RUNNING_STATUSES] }, is_listed: true };
  for (const filter of [live, { ...range, uncounted: true }]) {
    const found = await readStored<SessionDocument, Found>(models.sessions, filter, {
      projection: { ...COUNTED_FIELDS, counted_turns: 1 },
      limit: MAX_UNCOUNTED + 1,
    });
    if (found.length > MAX_UNCOUNTED) return null;
    for (const call of found)
      if (agentId === undefined || call.agent_id === agentId)
        uncounted.set(call._id, { call, turns: call.counted_turns ?? null });
  }
  return uncounted;
}

/** A summary in progress: the sums of each piece of the range are added to it. */
interface Reading {
  readonly summary: Summary;
  readonly uncounted: ReadonlyMap<string, Uncounted>;
  readonly isLate: () => boolean;
}

/** Adds the sums of a piece; false once it is late. */
async function addSums(context: Parts, question: Question, piece: Piece, reading: Reading): Promise<boolean> {
  for await (const sums of sumsOf(context, question, piece)) {
    if (reading.isLate()) return false;
    add(sums, reading);
  }
  return !reading.isLate();
}

/**
 * Adds the sums of the stretch in which the range ends, which begins with the piece; false if they have a
 * call from after the range. A range that ends now has all calls of its last stretch: without their sums, the
 * sessions of the last minutes would be read for every such question, unjoined ones included.
 */
async function addLastSums(
  context: Parts,
  question: Question,
  { fromMs, toMs }: Piece,
  reading: Reading,
): Promise<boolean> {
  const found: CallCountDocument[] = [];
  const stretch = { span: SHORTEST, fromMs, toMs: fromMs + COUNT_SPANS[SHORTEST] };
  for await (const sums of sumsOf(context, question, stretch)) {
    if (reading.isLate() || sums.newest_at.getTime() >= toMs) return false;
    found.push(sums);
  }
  for (const sums of found) add(sums, reading);
  return true;
}

function add(sums: CallCountDocument, { summary, uncounted }: Reading): void {
  summary.addSums(sums);
  for (const { id, turns } of sums.recent) {
    const call = uncounted.get(id);
    if (call) call.turns = Math.max(turns, call.turns ?? 0);
  }
}

/** The sums of a piece that has a span. */
async function* sumsOf(
  { models }: Parts,
  { teamId, agentId }: Question,
  { span, fromMs, toMs }: Piece,
): AsyncGenerator<CallCountDocument> {
  if (span === null) return;
  const prefix = (startMs: number) => countIdPrefix(teamId, span, startMs);
  const starts = Array.from(
    { length: (toMs - fromMs) / COUNT_SPANS[span] },
    (_, index) => fromMs + index * COUNT_SPANS[span],
  );
  const ids =
    agentId === undefined
      ? { $gte: prefix(fromMs), $lt: prefix(toMs) }
      : { $in: starts.map((startMs) => prefix(startMs) + agentId) };
  for await (const found of models.callCounts.collection.find({ _id: ids } as never))
    yield found as unknown as CallCountDocument;
}

/** Adds the calls of a piece from their sessions, the newest first; true if there are more than the limit. */
async function addSessions(
  context: Parts,
  { teamId, agentId }: Question,
  {
    fromMs,
    toMs,
    maxSessions = Number.POSITIVE_INFINITY,
  }: Omit<Piece, 'span'> & { readonly maxSessions?: number },
  summary: Summary,
): Promise<boolean> {
  const filter = {
    team_id: teamId,
    ...(agentId === undefined ? {} : { agent_id: agentId }),
    created_at: { $gte: new Date(fromMs), $lt: new Date(toMs) },
    is_listed: true,
    status: { $in: [...RUNNING_STATUSES, ...ENDED_STATUSES] },
  };
  let left = maxSessions;
  const seen = new Set<string>();
  const read = async (collection: SessionCollection) => {
    const calls = collection
      .find(filter as never, { projection: COUNTED_FIELDS })
      .sort({ created_at: -1, _id: -1 });
    for await (const found of calls) {
      const call = found as unknown as CountedCall & Pick<SessionDocument, '_id'>;
      if (seen.has(call._id)) continue;
      left -= 1;
      if (left < 0) return true;
      seen.add(call._id);
      summary.addCall(call);
    }
    return false;
  };
  if (await read(context.models.sessions.collection)) return true;
  // Afterwards: what is archived meanwhile is found there.
  for (const { startMs, endMs, collection } of await archivedMonths(context))
    if (startMs < toMs && endMs > fromMs && (await read(collection))) return true;
  return false;
}
