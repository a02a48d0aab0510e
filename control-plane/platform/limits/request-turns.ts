/** Requests take their account's turns once their body is there. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import { keptBytes } from './body-size.ts';
import type { Turn } from './turns.ts';

/**
 * An answer that waiting or paying would have spared: its request's place stays taken so long, so that
 * whoever asks on regardless takes less of the loop.
 */
const REFUSALS: ReadonlySet<number> = new Set([402, 403, 429]);
export const REFUSED_MS = 500;

/** Requests that wait to hear whether they may go on. */
const undecided = new WeakMap<FastifyRequest, Promise<void>>();
/** Requests that were among those of their account that take turns. */
const waited = new WeakSet<FastifyRequest>();

/** A request's turn is not asked for before this, and it is refused where this rejects. */
export function decideFirst(request: FastifyRequest, decided: Promise<void>): void {
  undecided.set(request, decided);
}

/**
 * Waits until the request is one of those of its account that are worked on; once for each request. Throws
 * what was decided, and `too_many_at_once`.
 */
export async function takeTurn(
  { turns }: Pick<Context, 'turns'>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { caller } = request;
  if (!caller || waited.has(request)) return;
  await undecided.get(request);
  const turn = turnOf(turns, { request, userId: caller.userId });
  waited.add(request);
  onceOver(reply, () => turn.leave(REFUSALS.has(reply.statusCode) ? REFUSED_MS : 0));
  await turn.begun;
}

/**
 * Does a part of a request's work that comes before its handler, in a turn of its own which lasts as long as
 * the work, also where the client leaves. Throws as `takeTurn` does, and what `work` throws: that is a
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
  onceOver(reply, () => {
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

/** Whether a request was one of its account's that take turns; what was refused earlier was not. */
export function hasTakenTurn(request: FastifyRequest): boolean {
  return waited.has(request);
}

/**
 * Calls `then` when a request is answered or given up, which it may be by now; `then` is called once or more.
 */
export function onceOver({ raw }: FastifyReply, then: () => void): void {
  raw.once('close', then);
  if (raw.destroyed || raw.writableFinished) then();
}

/** Throws `too_many_at_once`. */
function turnOf(
  turns: Context['turns'],
  {
    request,
    userId,
    isWork = false,
  }: { readonly request: FastifyRequest; readonly userId: string; readonly isWork?: boolean },
): Turn {
  try {
    return turns.take(userId, { bytes: keptBytes(request), isWork });
  } catch (error) {
    // Its refusal may wait, too, and keeps nothing meanwhile.
    request.body = undefined;
    throw error;
  }
}
