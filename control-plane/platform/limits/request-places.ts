/**
 * Per-account places for requests that cost memory or a speech engine: uploads in progress, their bytes, and
 * speech requests. Taken before the body is read and held until the answer. Counted per process, because
 * memory and engines are per process.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { Context } from '../context.ts';
import type { Caller } from '../http/auth.ts';
import { countReceivedBytes, declaredBytes, onLargeBody, SMALL_BYTES } from './body-size.ts';
import { requireRate } from './rate.ts';
import { decideFirst, onReplyClosed, REFUSED_MS } from './request-turns.ts';
import { UploadPaces } from './upload-paces.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Takes a place for a speech request before the body is read. */
    isSpeech?: boolean;
  }
}

/** Most requests finish within this time. */
const BUSY_SECONDS = 1;

/** Size assumed for an upload of undeclared size until it has finished. */
const UNSTATED_BYTES = 4 * 1_048_576;

type Parts = Pick<Context, 'clock' | 'ledger' | 'settings' | 'coordination' | 'turns'>;

/** Requests in progress, by account. */
interface InProgress {
  readonly speech: Map<string, number>;
  readonly uploads: Map<string, number>;
  readonly uploadBytes: Map<string, number>;
  readonly uploadPaces: UploadPaces;
  readonly serverTests: Map<string, number>;
  readonly suggestions: Map<string, number>;
  readonly tunings: Map<string, number>;
  readonly replays: Map<string, number>;
  readonly rehearsals: Map<string, number>;
  readonly estimates: Map<string, number>;
  readonly callFiles: Map<string, number>;
  readonly testCallQuestions: Map<string, number>;
  /** Callers whose request already has its speech place. */
  readonly admitted: WeakSet<Pick<Caller, 'userId'>>;
}

const all = new WeakMap<Context['ledger'], InProgress>();

/** How many `what` an account may have at once. */
interface PlaceLimit {
  readonly limit: number;
  readonly what: string;
}

function inProgress({ ledger, clock, settings }: Parts): InProgress {
  const known = all.get(ledger) ?? {
    speech: new Map(),
    uploads: new Map(),
    uploadBytes: new Map(),
    uploadPaces: new UploadPaces(clock, settings.LIMIT_UPLOAD_BYTES_PER_SECOND),
    serverTests: new Map(),
    suggestions: new Map(),
    tunings: new Map(),
    replays: new Map(),
    rehearsals: new Map(),
    estimates: new Map(),
    callFiles: new Map(),
    testCallQuestions: new Map(),
    admitted: new WeakSet(),
  };
  all.set(ledger, known);
  return known;
}

/**
 * Takes the places a request with a body needs, until it is answered or aborted. Throws `too_many_at_once`,
 * `too_many_a_minute`, `speech_busy`, `overdrawn`.
 */
export async function takeRequestPlaces(
  context: Parts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { caller } = request;
  const bytes = declaredBytes(request);
  const isSpeech = request.routeOptions.config.isSpeech === true;
  if (!caller || !(isSpeech || bytes === null || bytes > SMALL_BYTES)) return;
  const untilAnswered = (release: () => void) => onReplyClosed(reply, release);
  // Paced before it takes one of the few places, so a waiting request occupies none.
  if (isSpeech && bytes !== null) await pace(context, { request, reply, caller, bytes });
  // Refusals wait for a turn too.
  const turn = context.turns.take(caller.userId);
  untilAnswered(() => turn.leave(0));
  await turn.begun;
  try {
    if (isSpeech) {
      // Its bytes are limited by the number of places and by the route's body limit.
      untilAnswered(await takeSpeech(context, caller));
      inProgress(context).admitted.add(caller);
    } else if (bytes !== null) untilAnswered(await takeUpload(context, caller, bytes));
    turn.leave(0);
  } catch (error) {
    turn.leave(REFUSED_MS);
    // The rest of a refused upload is not read.
    if (bytes === null || bytes > SMALL_BYTES) reply.header('Connection', 'close');
    throw error;
  }
  if (bytes === null)
    onLargeBody(request, () => {
      // Holds back reader and handler until the request is admitted.
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
 * Takes a place for one of the account's speech requests; `release` may be called more than once. Throws
 * `speech_busy`, `overdrawn`.
 */
export async function takeSpeechPlace(
  context: Parts,
  caller: Pick<Caller, 'userId' | 'teamId'>,
): Promise<() => void> {
  return inProgress(context).admitted.has(caller) ? () => undefined : takeSpeech(context, caller);
}

/**
 * Sends a test request to a tenant's server, for a tool or a webhook, using one of the account's places.
 * Throws `too_many_at_once`, `too_many_a_minute`, and whatever `send` throws.
 */
export async function testingServer<Answer>(
  context: Parts,
  { userId }: Caller,
  send: () => Promise<Answer>,
): Promise<Answer> {
  const { LIMIT_TOOL_TESTS: limit, LIMIT_TOOL_TESTS_PER_MINUTE: perMinute } = context.settings;
  await requireRate(context, {
    key: `tool-tests:${userId}`,
    limit: perMinute,
    what: 'tests of tools and webhooks',
  });
  const leave = takePlace(inProgress(context).serverTests, userId, {
    limit,
    what: 'tests of tools and webhooks in progress',
  });
  return send().finally(leave);
}

/**
 * Asks for the suggestion of an agent, using one of the account's places. Throws `too_many_at_once`, and
 * whatever `ask` throws.
 */
export async function suggesting<Answer>(
  context: Parts,
  { teamId }: Caller,
  ask: () => Promise<Answer>,
): Promise<Answer> {
  const leave = takePlace(inProgress(context).suggestions, teamId, {
    limit: LIMITS.suggestionsAtOnce,
    what: 'suggestions of agents in progress',
  });
  return ask().finally(leave);
}

/** Work on calls: a worker runs ended ones again in a thread, one is written to a file, a model is asked. */
const CALL_WORK = {
  tunings: { atOnce: LIMITS.tuningsAtOnce, aMinute: LIMITS.tuningsPerMinute, what: 'tunings of agents' },
  replays: { atOnce: LIMITS.replaysAtOnce, aMinute: LIMITS.replaysPerMinute, what: 'replays of calls' },
  rehearsals: {
    atOnce: LIMITS.rehearsalsAtOnce,
    aMinute: LIMITS.rehearsalsPerMinute,
    what: 'rehearsals of agents',
  },
  estimates: {
    atOnce: LIMITS.rehearsalsAtOnce,
    aMinute: LIMITS.estimatesPerMinute,
    what: 'estimates of rehearsals',
  },
  callFiles: { atOnce: LIMITS.callFilesAtOnce, aMinute: LIMITS.callFilesPerMinute, what: 'exports of calls' },
  testCallQuestions: {
    atOnce: LIMITS.testCallQuestionsAtOnce,
    aMinute: LIMITS.testCallQuestionsPerMinute,
    what: 'questions about test calls',
  },
} as const;

/**
 * Runs work of an account on its calls, using one of its places for it. Throws `too_many_at_once`,
 * `too_many_a_minute`, and whatever `run` throws.
 */
export async function workingOnCalls<Answer>(
  context: Parts,
  { teamId }: Caller,
  kind: keyof typeof CALL_WORK,
  run: () => Promise<Answer>,
): Promise<Answer> {
  const { atOnce, aMinute, what } = CALL_WORK[kind];
  await requireRate(context, { key: `${kind}:${teamId}`, limit: aMinute, what });
  const leave = takePlace(inProgress(context)[kind], teamId, {
    limit: atOnce,
    what: `${what} in progress`,
  });
  return run().finally(leave);
}

/** Throws `overdrawn` if the account is further below zero than the operator allows. */
export async function requireNotOverdrawn({ ledger, settings }: Parts, userId: string): Promise<void> {
  if (settings.OVERDRAFT_LIMIT !== undefined)
    refuseOverdrawn(settings.OVERDRAFT_LIMIT, (await ledger.newest(userId))?.balanceMicros ?? 0);
}

function refuseOverdrawn(limitMicros: number, balanceMicros: number): void {
  if (balanceMicros < -limitMicros) throw fault('overdrawn');
}

async function takeSpeech(
  context: Parts,
  { userId, teamId }: Pick<Caller, 'userId' | 'teamId'>,
): Promise<() => void> {
  const newest = await context.ledger.newest(userId);
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
  requirePlace(uploads, userId, { limit, what: 'uploads in progress' });
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
 * Delays reading an upload while its account is over its rate and other accounts are active. Until it ends,
 * the upload counts with its expected size. Throws `too_many_bytes_a_second`, and `bad_request` if the client
 * disconnects meanwhile.
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
  const come = countReceivedBytes(request);
  const gone = new AbortController();
  try {
    const upload = inProgress(context).uploadPaces.begin(caller.userId, bytes);
    onReplyClosed(reply, () => {
      upload.end(come.bytes);
      gone.abort(fault('bad_request', { detail: 'the client disconnected' }));
    });
    if (upload.waitMs > 0) await context.clock.sleep(upload.waitMs, gone.signal);
  } catch (error) {
    reply.header('Connection', 'close');
    throw error;
  }
}

/** Takes a place of an account; returns an idempotent function that frees it. Throws `too_many_at_once`. */
function takePlace(counts: Map<string, number>, owner: string, of: PlaceLimit): () => void {
  requirePlace(counts, owner, of);
  return add(counts, owner, 1);
}

function requirePlace(counts: Map<string, number>, owner: string, { limit, what }: PlaceLimit): void {
  if ((counts.get(owner) ?? 0) >= limit)
    throw fault('too_many_at_once', {
      limit,
      what,
      remedy: 'wait until one has finished',
      seconds: BUSY_SECONDS,
    });
}

/** Adds to an account's count; returns an idempotent function that subtracts it again. */
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
