/**
 * Retryable writes: keeps each session's last reply, so a write resent after a lost connection is answered,
 * not repeated. Memory is sufficient because the server dies together with its clients.
 */
import type { Document } from './bson-values.ts';
import { binaryParts, bsonType } from './bson-values.ts';
import type { Command } from './command-fields.ts';

const MAX_SESSIONS = 10_000;

/** Replies by session. */
export class RetryCache {
  readonly #replies = new Map<string, { readonly txnNumber: string; readonly reply: Document }>();

  /** The session key of a retryable write; null for any other command. */
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

  /** The earlier reply to the same write, if any. */
  find(key: string, command: Command): Document | undefined {
    const known = this.#replies.get(key);
    return known?.txnNumber === String(command['txnNumber']) ? known.reply : undefined;
  }

  /** Stores a reply, replacing the session's previous one. */
  remember(key: string, command: Command, reply: Document): void {
    this.#replies.delete(key);
    this.#replies.set(key, { txnNumber: String(command['txnNumber']), reply });
    for (const oldest of this.#replies.keys()) {
      if (this.#replies.size <= MAX_SESSIONS) break;
      this.#replies.delete(oldest);
    }
  }

  /** Discards a session's reply. */
  forget(key: string): void {
    this.#replies.delete(key);
  }
}
