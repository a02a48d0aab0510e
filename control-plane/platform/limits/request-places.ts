/**
 * Places of requests that cost memory or a speech engine, taken by account before their body is read and held
 * until they are answered: uploads in progress, their bytes, and speech requests. Counted in this process, as
 * it is its memory and its engines.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { Context } from '../context.ts';
import type { Caller } from '../http/auth.ts';
import { announcedBytes, comeBytes, onceLarge, SMALL_BYTES } from './body-size.ts';
import { requireRate } from './rate.ts';
import { decideFirst, onceOver, REFUSED_MS } from './request-turns.ts';
import { UploadPaces } from './upload-paces.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Takes a speech request's place before the body is read. */
    isSpeech?: boolean;
  }
}

/** Most requests are over by then. */
const BUSY_SECONDS = 1;

/** What an upload of no stated size counts for until it is over. */
const UNSTATED_BYTES = 16 * 1_048_576;

type Parts = Pick<Context, 'clock' | 'ledger' | 'settings' | 'coordination' | 'turns'>;

/** What is in progress, by account. */
interface InProgress {
  readonly speech: Map<string, number>;
  readonly uploads: Map<string, number>;
  readonly uploadBytes: Map<string, number>;
  readonly uploadPaces: UploadPaces;
  readonly toolTests: Map<string, number>;
  /** Callers whose request has its speech place already. */
  readonly admitted: WeakSet<Pick<Caller, 'userId'>>;
}

const all = new WeakMap<Context['ledger'], InProgress>();

function inProgress({ ledger, clock, settings }: Parts): InProgress {
  const known = all.get(ledger) ?? {
    speech: new Map(),
    uploads: new Map(),
    uploadBytes: new Map(),
    uploadPaces: new UploadPaces(clock, settings.LIMIT_UPLOAD_BYTES_PER_SECOND),
    toolTests: new Map(),
    admitted: new WeakSet(),
  };
  all.set(ledger, known);
  return known;
}

/**
 * Takes what a request with a body needs, until it is answered or given up. Throws `too_many_at_once`,
 * `too_many_a_minute`, `speech_busy`, `overdrawn`.
 */
export async function takeRequestPlaces(
  context: Parts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { caller } = request;
  const bytes = announcedBytes(request);
  const isSpeech = request.routeOptions.config.isSpeech === true;
  if (!caller || !(isSpeech || bytes === null || bytes > SMALL_BYTES)) return;
  const untilAnswered = (release: () => void) => onceOver(reply, release);
  // Before it has a place of the few there are: what waits for its time takes none.
  if (isSpeech && bytes !== null) await pace(context, { request, reply, caller, bytes });
  // Refusals take turns, too.
  const turn = context.turns.take(caller.userId);
  untilAnswered(() => turn.leave(0));
  await turn.begun;
  try {
    if (isSpeech) {
      // Its bytes are bounded by the places and by what the route takes.
      untilAnswered(await takeSpeech(context, caller));
      inProgress(context).admitted.add(caller);
    } else if (bytes !== null) untilAnswered(await takeUpload(context, caller, bytes));
    turn.leave(0);
  } catch (error) {
    turn.leave(REFUSED_MS);
    // What is still to come of a refused upload is not read.
    if (bytes === null || bytes > SMALL_BYTES) reply.header('Connection', 'close');
    throw error;
  }
  if (bytes === null)
    onceLarge(request, () => {
      // Neither its reader nor its handler goes on before it is known whether it may.
      request.raw.pause();
      const admit = async () => {
        if (!isSpeech)
          untilAnswered(await takeUpload(context, caller, request.routeOptions.bodyLimit ?? SMALL_BYTES));
        await pace(context, { request, reply, caller, bytes: UNSTATED_BYTES });
        request.raw.resume();
      };
      const decided = admit();
      decideFirst(request, decided);
      decided.catch((error: unknown) => {
        if (!reply.sent) reply.header('Connection', 'close').send(error);
      });
    });
  else if (!isSpeech) await pace(context, { request, reply, caller, bytes });
}

/**
 * Takes an account's place for a speech request; `release` is called once or more. Throws `speech_busy`,
 * `overdrawn`.
 */
export async function takeSpeechPlace(
  context: Parts,
  caller: Pick<Caller, 'userId' | 'teamId'>,
): Promise<() => void> {
  return inProgress(context).admitted.has(caller) ? () => undefined : takeSpeech(context, caller);
}

/**
 * Sends a test request of a tool in one of its account's places. Throws `too_many_at_once`,
 * `too_many_a_minute`, and what `send` throws.
 */
export async function testingTool<Answer>(
  context: Parts,
  { userId }: Caller,
  send: () => Promise<Answer>,
): Promise<Answer> {
  const { LIMIT_TOOL_TESTS: limit, LIMIT_TOOL_TESTS_PER_MINUTE: perMinute } = context.settings;
  await requireRate(context, { key: `tool-tests:${userId}`, limit: perMinute, what: 'tool tests' });
  const { toolTests } = inProgress(context);
  if ((toolTests.get(userId) ?? 0) >= limit)
    throw fault('too_many_at_once', {
      limit,
      what: 'tool tests in progress',
      remedy: 'wait until one is over',
      seconds: BUSY_SECONDS,
    });
  const leave = add(toolTests, userId, 1);
  return send().finally(leave);
}

/** Throws `overdrawn` for an account that is further below zero than the operator allows. */
export async function requireNotOverdrawn({ ledger, settings }: Parts, userId: string): Promise<void> {
  if (settings.OVERDRAFT_LIMIT !== undefined)
    refuseOverdrawn(settings.OVERDRAFT_LIMIT, (await ledger.wallet(userId))?.newest.balanceMicros ?? 0);
}

function refuseOverdrawn(limitMicros: number, balanceMicros: number): void {
  if (balanceMicros < -limitMicros) throw fault('overdrawn');
}

async function takeSpeech(
  context: Parts,
  { userId, teamId }: Pick<Caller, 'userId' | 'teamId'>,
): Promise<() => void> {
  const newest = (await context.ledger.wallet(userId))?.newest;
  if (context.settings.OVERDRAFT_LIMIT !== undefined)
    refuseOverdrawn(context.settings.OVERDRAFT_LIMIT, newest?.balanceMicros ?? 0);
  const paid = newest?.cumulativeTopUpMicros ?? 0;
  const limit = LIMITS.speechConcurrency.find(({ belowMicros }) => paid < belowMicros)?.requests ?? 0;
  const { speech } = inProgress(context);
  if ((speech.get(teamId) ?? 0) >= limit)
    throw fault('speech_busy', { limit, of: 'account', seconds: BUSY_SECONDS });
  return add(speech, teamId, 1);
}

async function takeUpload(context: Parts, { userId }: Caller, bytes: number): Promise<() => void> {
  const { uploads, uploadBytes: held } = inProgress(context);
  const {
    LIMIT_UPLOADS: limit,
    LIMIT_UPLOAD_BYTES: mostBytes,
    LIMIT_UPLOADS_PER_MINUTE: perMinute,
  } = context.settings;
  await requireRate(context, { key: `uploads:${userId}`, limit: perMinute, what: 'uploads' });
  if ((uploads.get(userId) ?? 0) >= limit)
    throw fault('too_many_at_once', {
      limit,
      what: 'uploads in progress',
      remedy: 'wait until one is over',
      seconds: BUSY_SECONDS,
    });
  const others = held.get(userId) ?? 0;
  if (others > 0 && others + bytes > mostBytes)
    throw fault('too_many_bytes_at_once', { limit: mostBytes, seconds: BUSY_SECONDS });
  const [over, gone] = [add(uploads, userId, 1), add(held, userId, bytes)];
  return () => {
    over();
    gone();
  };
}

/**
 * Waits before an upload is read while its account has sent more than it may and others ask, too. It counts
 * for what is expected of it until it is over. Throws `too_many_bytes_a_second`, and `bad_request` when the
 * client leaves meanwhile.
 */
async function pace(
  context: Parts,
  {
    request,
    reply,
    caller,
    bytes,
  }: { request: FastifyRequest; reply: FastifyReply; caller: Caller; bytes: number },
): Promise<void> {
  if (bytes <= SMALL_BYTES || !context.turns.hasOthers(caller.userId)) return;
  const come = comeBytes(request);
  const gone = new AbortController();
  try {
    const upload = inProgress(context).uploadPaces.begin(caller.userId, bytes);
    onceOver(reply, () => {
      upload.end(come.bytes);
      gone.abort(fault('bad_request', { detail: 'the client is gone' }));
    });
    if (upload.waitMs > 0) await context.clock.sleep(upload.waitMs, gone.signal);
  } catch (error) {
    reply.header('Connection', 'close');
    throw error;
  }
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
