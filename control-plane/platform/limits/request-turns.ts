/** Makes requests take their account's turns once their body has arrived. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import type { Turn } from './account-turns.ts';
import { bytesInMemory } from './body-size.ts';

/**
 * Statuses the client could have avoided by waiting or paying, and 503, such as no free worker: it costs as
 * much as an admitted request. Their place stays taken for this long, so clients that keep asking use less of
 * the event loop.
 */
const REFUSALS: ReadonlySet<number> = new Set([402, 403, 429, 503]);
export const REFUSED_MS = 500;

/** Requests whose admission is still pending. */
const undecided = new WeakMap<FastifyRequest, Promise<void>>();
/** Requests that have already taken a turn. */
const waited = new WeakSet<FastifyRequest>();

/** Makes the request wait for `decided` before it asks for a turn; a rejection refuses it. */
export function decideFirst(request: FastifyRequest, decided: Promise<void>): void {
  undecided.set(request, decided);
}

/**
 * Waits for the request's turn among those of its account; has an effect only once per request. Throws the
 * rejection passed to `decideFirst`, and `too_many_at_once`.
 */
export async function takeTurn(
  { turns }: Pick<Context, 'turns'>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  if (request.caller) await takeTurnOf({ turns }, { request, reply }, request.caller.userId);
}

/** As `takeTurn`, for the account whose data a request without a key reads. */
export async function takeTurnOf(
  { turns }: Pick<Context, 'turns'>,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  userId: string,
): Promise<void> {
  if (waited.has(request)) return;
  await undecided.get(request);
  const turn = turnOf(turns, { request, userId });
  waited.add(request);
  onReplyClosed(reply, () => turn.leave(REFUSALS.has(reply.statusCode) ? REFUSED_MS : 0));
  await turn.begun;
}

/**
 * Runs part of a request's work before its handler, in a separate turn that lasts until the work ends, even
 * if the client disconnects. Throws as `takeTurn` does, and whatever `work` throws, which counts as a
 * refusal.
 */
export async function workInTurn(
  { turns }: Pick<Context, 'turns'>,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  work: () => Promise<void>,
): Promise<void> {
  const { caller } = request;
  if (!caller) return work();
  await undecided.get(request);
  const turn = turnOf(turns, { request, userId: caller.userId, isWork: true });
  let hasBegun = false;
  onReplyClosed(reply, () => {
    if (!hasBegun) turn.leave(0);
  });
  await turn.begun;
  hasBegun = true;
  try {
    await work();
  } catch (error) {
    waited.add(request);
    turn.leave(REFUSED_MS);
    throw error;
  }
  turn.leave(0);
}

/** Whether the request has taken a turn; false if it was refused before that. */
export function hasTakenTurn(request: FastifyRequest): boolean {
  return waited.has(request);
}

/**
 * Calls `then` once the request is answered or aborted, immediately if it already is; `then` may be called
 * more than once.
 */
export function onReplyClosed({ raw }: FastifyReply, then: () => void): void {
  raw.once('close', then);
  if (raw.destroyed || raw.writableFinished) then();
}

/** Asks for a turn. Throws `too_many_at_once`. */
function turnOf(
  turns: Context['turns'],
  {
    request,
    userId,
    isWork = false,
  }: { readonly request: FastifyRequest; readonly userId: string; readonly isWork?: boolean },
): Turn {
  try {
    return turns.take(userId, { bytes: bytesInMemory(request), isWork });
  } catch (error) {
    // Its refusal may be delayed too and should hold no memory meanwhile.
    request.body = undefined;
    throw error;
  }
}
