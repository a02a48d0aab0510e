/**
 * Requests of dialogs that this server does not know. Several servers may serve the same workers: after the
 * loss of one, a proxy sends the requests of its calls here. The workers are asked in turn whose call it is.
 */
import type { Core } from './core.ts';
import { hand, reply } from './server-transactions.ts';
import type { ServerTransaction } from './transaction.ts';

/** Answers of an application that does not know the dialog either; 404 is that of older workers. */
const NOT_MINE = new Set([404, 481]);

/** Asks the first worker; without workers the request is refused. */
export function askWorkers(core: Core, transaction: ServerTransaction): void {
  // Only the server that sent a reliable response knows whether it awaits this PRACK.
  const workers = transaction.method === 'PRACK' ? [] : [...core.apps];
  core.asked.set(
    transaction,
    workers.filter(({ verbs }) => verbs.has('invite')),
  );
  askNextWorker(core, transaction);
}

/** Asks the next worker; after the last one the request is refused (RFC 3261 §12.2.2). */
export function askNextWorker(core: Core, transaction: ServerTransaction): void {
  const worker = core.asked.get(transaction)?.shift();
  if (worker) hand(core, transaction, worker, null);
  else reply(core, transaction, 481);
}

/** True if this response only says that another worker must be asked. */
export function isNotMine(core: Core, transaction: ServerTransaction, status: number): boolean {
  return core.asked.has(transaction) && NOT_MINE.has(status);
}
