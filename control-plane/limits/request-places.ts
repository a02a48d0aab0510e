/**
 * Places of requests that cost memory or a speech engine, taken by account before their body is read and held until they are answered:
 * uploads in progress, their bytes, and speech requests. Counted in this process, as it is its memory and its engines.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { TokenBucket } from '#config/token-bucket.ts';
import type { Caller } from '../auth.ts';
import type { Context } from '../context.ts';
import { requireRate } from './rate.ts';
import type { Turn } from './turns.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Takes a speech request's place before the body is read. */
    isSpeech?: boolean;
  }
}

/** A smaller body is no upload. */
const SMALL_BYTES = 256 * 1024;
/** Most requests are over by then. */
const BUSY_SECONDS = 1;

/** An answer that waiting or paying would have spared: its request's place stays taken so long, so that whoever asks on regardless takes less of the loop. */
const REFUSALS: ReadonlySet<number> = new Set([402, 403, 429]);
const REFUSED_MS = 100;
/** Bytes of uploads an account may send as fast as they come. */
const UPLOAD_BURST_BYTES = 8 * 1_048_576;
/** What an upload of no stated size counts for there, and the most that one counts for: more than that is refused by most routes, unread. */
const UNSTATED_BYTES = 16 * 1_048_576;
const MOST_COUNTED_BYTES = 64 * 1_048_576;

type Parts = Pick<Context, 'clock' | 'ledger' | 'settings' | 'coordination' | 'turns'>;

/** What is in progress, by account. */
interface InProgress {
  readonly speech: Map<string, number>;
  readonly uploads: Map<string, number>;
  readonly uploadBytes: Map<string, number>;
  /** How fast an account's uploads are read while others ask, too. */
  readonly uploadPaces: Map<string, TokenBucket>;
  readonly toolTests: Map<string, number>;
  /** Callers whose request has its speech place already. */
  readonly admitted: WeakSet<Pick<Caller, 'userId'>>;
  /** Uploads whose size was not stated and that wait to hear whether they may go on. */
  readonly undecided: WeakMap<FastifyRequest, Promise<void>>;
  /** Requests that have asked for their turn. */
  readonly waited: WeakSet<FastifyRequest>;
}

const all = new WeakMap<Context['ledger'], InProgress>();

function inProgress({ ledger }: Parts): InProgress {
  const known = all.get(ledger) ?? {
    speech: new Map(),
    uploads: new Map(),
    uploadBytes: new Map(),
    uploadPaces: new Map(),
    toolTests: new Map(),
    admitted: new WeakSet(),
    undecided: new WeakMap(),
    waited: new WeakSet(),
  };
  all.set(ledger, known);
  return known;
}

/** Takes what a request with a body needs, until it is answered or given up. Throws `too_many_at_once`, `too_many_a_minute`, `speech_busy`, `overdrawn`. */
export async function takeRequestPlaces(context: Parts, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { caller } = request;
  const bytes = announcedBytes(request);
  const isSpeech = request.routeOptions.config.isSpeech === true;
  if (!caller || !(isSpeech || bytes === null || bytes > SMALL_BYTES)) return;
  const untilAnswered = (release: () => void) => onceOver(reply, release);
  // Refusals take turns, too.
  const turn = context.turns.take(caller.userId);
  untilAnswered(() => turn.leave(0));
  await turn.begun;
  try {
    if (isSpeech) {
      // Its bytes are bounded by the places and by what the route takes.
      untilAnswered(await takeSpeech(context, caller));
      inProgress(context).admitted.add(caller);
    } else if (bytes === null) {
      onceLarge(request, (mostBytes) => {
        // Neither its reader nor its handler goes on before it is known whether it may.
        request.raw.pause();
        const decided = takeUpload(context, caller, mostBytes).then(async (release) => {
          untilAnswered(release);
          await pace(context, caller, UNSTATED_BYTES);
          request.raw.resume();
        });
        inProgress(context).undecided.set(request, decided);
        decided.catch((error: unknown) => {
          if (!reply.sent) reply.header('Connection', 'close').send(error);
        });
      });
    } else untilAnswered(await takeUpload(context, caller, bytes));
    turn.leave(0);
  } catch (error) {
    turn.leave(REFUSED_MS);
    // What is still to come of a refused upload is not read.
    if (bytes === null || bytes > SMALL_BYTES) reply.header('Connection', 'close');
    throw error;
  }
  if (bytes !== null || isSpeech) await pace(context, caller, bytes ?? UNSTATED_BYTES);
}

/** Waits until the request is one of those of its account that are worked on; once for each request. Throws what `takeRequestPlaces` does, and `too_many_at_once`. */
export async function takeTurn(context: Parts, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const { caller } = request;
  const { waited, undecided } = inProgress(context);
  if (!caller || waited.has(request)) return;
  await undecided.get(request);
  const turn = turnOf(context, request, caller);
  waited.add(request);
  onceOver(reply, () => turn.leave(REFUSALS.has(reply.statusCode) ? REFUSED_MS : 0));
  await turn.begun;
}

/** Throws `too_many_at_once`. */
function turnOf(context: Parts, request: FastifyRequest, caller: Caller): Turn {
  const bytes = announcedBytes(request) ?? SMALL_BYTES;
  try {
    // An upload's bytes are bounded by its place.
    return context.turns.take(caller.userId, { bytes: bytes > SMALL_BYTES ? 0 : bytes });
  } catch (error) {
    // Its refusal may wait, too, and keeps nothing meanwhile.
    request.body = undefined;
    throw error;
  }
}

/** Whether a request was one of its account's that take turns; what was refused earlier was not. */
export function hasTakenTurn({ ledger }: Pick<Context, 'ledger'>, request: FastifyRequest): boolean {
  return all.get(ledger)?.waited.has(request) ?? false;
}

/** Takes an account's place for a speech request; `release` is called once or more. Throws `speech_busy`, `overdrawn`. */
export async function takeSpeechPlace(context: Parts, caller: Pick<Caller, 'userId' | 'teamId'>): Promise<() => void> {
  return inProgress(context).admitted.has(caller) ? () => undefined : takeSpeech(context, caller);
}

/** Sends a test request of a tool in one of its account's places. Throws `too_many_at_once`, `too_many_a_minute`, and what `send` throws. */
export async function testingTool<Answer>(context: Parts, { userId }: Caller, send: () => Promise<Answer>): Promise<Answer> {
  const { LIMIT_TOOL_TESTS: limit, LIMIT_TOOL_TESTS_PER_MINUTE: perMinute } = context.settings;
  await requireRate(context, { key: `tool-tests:${userId}`, limit: perMinute, what: 'tool tests' });
  const { toolTests } = inProgress(context);
  if ((toolTests.get(userId) ?? 0) >= limit)
    throw fault('too_many_at_once', { limit, what: 'tool tests in progress', remedy: 'wait until one is over', seconds: BUSY_SECONDS });
  const leave = add(toolTests, userId, 1);
  return send().finally(leave);
}

/** Throws `overdrawn` for an account that is further below zero than the operator allows. */
export async function requireNotOverdrawn({ ledger, settings }: Parts, userId: string): Promise<void> {
  if (settings.OVERDRAFT_LIMIT !== undefined) refuseOverdrawn(settings.OVERDRAFT_LIMIT, (await ledger.wallet(userId))?.newest.balanceMicros ?? 0);
}

function refuseOverdrawn(limitMicros: number, balanceMicros: number): void {
  if (balanceMicros < -limitMicros) throw fault('overdrawn');
}

async function takeSpeech(context: Parts, { userId, teamId }: Pick<Caller, 'userId' | 'teamId'>): Promise<() => void> {
  const newest = (await context.ledger.wallet(userId))?.newest;
  if (context.settings.OVERDRAFT_LIMIT !== undefined) refuseOverdrawn(context.settings.OVERDRAFT_LIMIT, newest?.balanceMicros ?? 0);
  const paid = newest?.cumulativeTopUpMicros ?? 0;
  const limit = LIMITS.speechConcurrency.find(({ belowMicros }) => paid < belowMicros)?.requests ?? 0;
  const { speech } = inProgress(context);
  if ((speech.get(teamId) ?? 0) >= limit) throw fault('speech_busy', { limit, of: 'account', seconds: BUSY_SECONDS });
  return add(speech, teamId, 1);
}

async function takeUpload(context: Parts, { userId }: Caller, bytes: number): Promise<() => void> {
  const { uploads, uploadBytes: held } = inProgress(context);
  const { LIMIT_UPLOADS: limit, LIMIT_UPLOAD_BYTES: mostBytes, LIMIT_UPLOADS_PER_MINUTE: perMinute } = context.settings;
  await requireRate(context, { key: `uploads:${userId}`, limit: perMinute, what: 'uploads' });
  if ((uploads.get(userId) ?? 0) >= limit)
    throw fault('too_many_at_once', { limit, what: 'uploads in progress', remedy: 'wait until one is over', seconds: BUSY_SECONDS });
  const others = held.get(userId) ?? 0;
  if (others > 0 && others + bytes > mostBytes) throw fault('too_many_bytes_at_once', { limit: mostBytes, seconds: BUSY_SECONDS });
  const [over, gone] = [add(uploads, userId, 1), add(held, userId, bytes)];
  return () => {
    over();
    gone();
  };
}

/** Calls `then` when a request is answered or given up, which it may be by now; `then` is called once or more. */
function onceOver({ raw }: FastifyReply, then: () => void): void {
  raw.once('close', then);
  if (raw.destroyed || raw.writableFinished) then();
}

/** How large the body of a request says it is; null when it does not say. */
function announcedBytes({ method, headers }: FastifyRequest): number | null {
  if (method === 'GET' || method === 'HEAD') return 0;
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : null;
}

/** Tells once that more than a small body has come, with the most bytes its route takes. */
function onceLarge({ raw, routeOptions }: FastifyRequest, tell: (mostBytes: number) => void): void {
  let bytes = 0;
  const count = (chunk: { readonly length: number }) => {
    bytes += chunk.length;
    if (bytes <= SMALL_BYTES) return;
    raw.off('data', count);
    tell(routeOptions.bodyLimit ?? SMALL_BYTES);
  };
  // Listening alone would start the body before its reader is there.
  raw.pause();
  raw.on('data', count);
}

/** Waits before an upload is read while its account has sent more than it may and others ask, too. */
async function pace(context: Parts, { userId }: Caller, bytes: number): Promise<void> {
  const { clock, settings, turns } = context;
  const { uploadPaces } = inProgress(context);
  const perSecond = settings.LIMIT_UPLOAD_BYTES_PER_SECOND;
  if (bytes <= SMALL_BYTES || perSecond === Number.POSITIVE_INFINITY || !turns.hasOthers(userId)) return;
  for (const [id, rested] of uploadPaces) if (rested.has(UPLOAD_BURST_BYTES)) uploadPaces.delete(id);
  const bucket = uploadPaces.get(userId) ?? new TokenBucket(clock, { perSecond, burst: UPLOAD_BURST_BYTES });
  uploadPaces.set(userId, bucket);
  const waitMs = bucket.waitMs(0);
  bucket.take(Math.min(bytes, MOST_COUNTED_BYTES));
  if (waitMs > 0) await clock.sleep(waitMs);
}

/** Adds to what an account has in progress; returns what takes it off again, once. */
function add(counts: Map<string, number>, owner: string, amount: number): () => void {
  counts.set(owner, (counts.get(owner) ?? 0) + amount);
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    const left = (counts.get(owner) ?? 0) - amount;
    if (left > 0) counts.set(owner, left);
    else counts.delete(owner);
  };
}
