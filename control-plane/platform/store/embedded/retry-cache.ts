/**
 * Retryable writes: the last reply of each session, so that a write sent again after a broken connection is
 * answered and not repeated. Memory suffices, as the server dies together with its clients.
 */
import type { Document } from './bson-values.ts';
import { binaryParts, bsonType } from './bson-values.ts';
import type { Command } from './command-fields.ts';

const MAX_SESSIONS = 10_000;

/** Replies by session. */
export class RetryCache {
  readonly #replies = new Map<string, { readonly txnNumber: string; readonly reply: Document }>();

  /** The session of a retryable write, or null for any other command. */
  keyOf(command: Command): string | null {
    const session = command['lsid'];
    if (
      command['txnNumber'] === undefined ||
      typeof session !== 'object' ||
      session === null ||
      !('id' in session)
    )
      return null;
    return bsonType(session.id) === 'Binary' || bsonType(session.id) === 'UUID'
      ? Buffer.from(binaryParts(session.id).bytes).toString('hex')
      : null;
  }

  /** The reply this very write got before. */
  find(key: string, command: Command): Document | undefined {
    const known = this.#replies.get(key);
    return known?.txnNumber === String(command['txnNumber']) ? known.reply : undefined;
  }

  /** Keeps a reply in place of the session's earlier one. */
  remember(key: string, command: Command, reply: Document): void {
    this.#replies.delete(key);
    this.#replies.set(key, { txnNumber: String(command['txnNumber']), reply });
    for (const oldest of this.#replies.keys()) {
      if (this.#replies.size <= MAX_SESSIONS) break;
      this.#replies.delete(oldest);
    }
  }

  /** Forgets a session's reply. */
  forget(key: string): void {
    this.#replies.delete(key);
  }
}
