/**
 * Requests of dialogs that this server does not know. Several servers may serve the same workers: after the
 * loss of one, a proxy sends the requests of its calls here. All workers are asked whose call it is.
 */
import type { Allowance } from '#base/token-bucket.ts';
import type { App } from './app-protocol.ts';
import type { Core } from './core.ts';
import { hand, reply } from './server-transactions.ts';
import type { ServerTransaction } from './transaction.ts';

/** Questions of the whole server, at four times the rate of one address: each reaches every worker. */
export const QUESTIONS: Allowance = { perSecond: 800, burst: 2_400 };
/** Until then a worker that is not connected yet may be, and another server may be asked. */
const RETRY_LATER = [{ name: 'Retry-After', value: '2' }];

/** Asks the workers. Without any, nobody can say that the call does not exist. */
export function askWorkers(core: Core, transaction: ServerTransaction): void {
  // Only the server that sent a reliable response knows whether it awaits this PRACK.
  if (transaction.method === 'PRACK') {
    reply(core, transaction, 481);
    return;
  }
  const workers = [...core.apps].filter(({ verbs }) => verbs.has('invite'));
  if (workers.length === 0 || !core.questions.tryTake(1)) {
    reply(core, transaction, 503, RETRY_LATER);
    return;
  }
  core.asked.set(transaction, { workers: new Set(workers), isDoubtful: false });
  for (const worker of workers) hand(core, transaction, worker, null);
}

/** Takes the answer of a worker that does not have the call; false for any other answer. */
export function isNotMine(core: Core, transaction: ServerTransaction, app: App, status: number): boolean {
  const question = core.asked.get(transaction);
  if (!question || !saysNotMine(transaction, status)) return false;
  leaveOut(core, transaction, app);
  return true;
}

/** A worker is lost: those that remain may still have the call. */
export function withoutWorker(core: Core, app: App): void {
  for (const [transaction, question] of [...core.asked]) {
    if (!question.workers.has(app)) continue;
    question.isDoubtful = true;
    leaveOut(core, transaction, app);
  }
}

/** After the last worker the request is refused (RFC 3261 §12.2.2). */
function leaveOut(core: Core, transaction: ServerTransaction, app: App): void {
  const question = core.asked.get(transaction);
  if (!question?.workers.delete(app) || question.workers.size > 0 || transaction.isFinal) return;
  if (question.isDoubtful) reply(core, transaction, 503, RETRY_LATER);
  else reply(core, transaction, 481);
}

/** Workers of the last release answer 404, and to an INVITE 503. */
function saysNotMine({ method }: ServerTransaction, status: number): boolean {
  return status === 481 || status === 404 || (status === 503 && method === 'INVITE');
}
