/**
 * Ends long connections whose API key was deleted or has expired. Each process reads the keys of its own
 * connections every few seconds, each key once however many connections it has opened. Expiry is known
 * without the database.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { inBatches } from '../store/in-batches.ts';
import { hasExpired, type KeyDocument } from '../store/models/key-model.ts';
import type { UserDocument } from '../store/models/user-model.ts';
import type { Models } from '../store/models.ts';
import { outsideRequest } from '../store/request-wait.ts';

const CHECK_MS = 3_000;
/** Keys in one read: ids alone, through their index. */
const BATCH_SIZE = 200;

interface KeyWatchDeps {
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
  readonly models: Pick<Models, 'keys' | 'users'>;
}

/** The key of an authenticated caller. */
interface CallerKey {
  readonly keyId: string;
  readonly keyExpiresAt: Date | null;
}

/** A key with open connections. */
interface WatchedKey extends Pick<KeyDocument, 'expires_at'> {
  readonly listeners: Set<() => void>;
}

/** The keys of a process's long connections. */
export class KeyWatch {
  readonly #deps: KeyWatchDeps;
  readonly #watched = new Map<string, WatchedKey>();
  #timer: Timer | null = null;
  #isChecking = false;

  constructor(deps: KeyWatchDeps) {
    this.#deps = deps;
  }

  /**
   * Calls `onEnd` once, some seconds after the caller's key has ended. Returns a function that stops
   * watching.
   */
  watch({ keyId, keyExpiresAt }: CallerKey, onEnd: () => void): () => void {
    const listener = () => onEnd();
    const key = this.#watched.get(keyId) ?? { expires_at: keyExpiresAt, listeners: new Set() };
    this.#watched.set(keyId, key);
    key.listeners.add(listener);
    this.#timer ??= outsideRequest(() => this.#deps.clock.every(CHECK_MS, () => void this.#check()));
    return () => {
      key.listeners.delete(listener);
      if (key.listeners.size === 0 && this.#watched.get(keyId) === key) this.#forget(keyId);
    };
  }

  /** Never rejects: connections stay open while the database does not answer. */
  async #check(): Promise<void> {
    this.#endExpired();
    if (this.#isChecking) return;
    this.#isChecking = true;
    const { clock, logger } = this.#deps;
    const ids = [...this.#watched.keys()];
    try {
      await inBatches(clock, ids, (batch) => this.#endDeleted(batch), { size: BATCH_SIZE });
    } catch (error) {
      logger.warn({ err: error }, 'failed to check the keys of open connections');
    } finally {
      this.#isChecking = false;
    }
  }

  #endExpired(): void {
    const at = new Date(this.#deps.clock.wallTime());
    for (const [id, key] of [...this.#watched]) if (hasExpired(key, at)) this.#end(id);
  }

  async #endDeleted(ids: readonly string[]): Promise<void> {
    const existing = await this.#existing(ids);
    for (const id of ids) if (!existing.has(id)) this.#end(id);
  }

  /** Those of the keys that are stored, and whose account is. */
  async #existing(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const { keys, users } = this.#deps.models;
    const found = await keys
      .find({ _id: { $in: [...ids] } }, { user_id: 1 })
      .lean<Pick<KeyDocument, '_id' | 'user_id'>[]>();
    const owners = await users
      .find({ _id: { $in: [...new Set(found.map(({ user_id }) => user_id))] } }, { _id: 1 })
      .lean<Pick<UserDocument, '_id'>[]>();
    const accounts = new Set(owners.map(({ _id }) => _id));
    return new Set(found.filter(({ user_id }) => accounts.has(user_id)).map(({ _id }) => _id));
  }

  #end(keyId: string): void {
    const ended = this.#watched.get(keyId)?.listeners ?? [];
    this.#forget(keyId);
    for (const end of ended) end();
  }

  #forget(keyId: string): void {
    this.#watched.delete(keyId);
    if (this.#watched.size > 0) return;
    this.#timer?.cancel();
    this.#timer = null;
  }
}
