/**
 * Ends long connections whose API key was deleted or has expired. Each process reads the keys of its own
 * connections every few seconds, each key once however many connections it has opened.
 */
import type { Clock, Timer } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import { inBatches } from '../store/in-batches.ts';
import { hasExpired, type KeyDocument } from '../store/models/key-model.ts';
import type { UserDocument } from '../store/models/user-model.ts';
import type { Models } from '../store/models.ts';
import { outsideRequest } from '../store/request-wait.ts';

const CHECK_MS = 3_000;

interface KeyWatchDeps {
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
  readonly models: Pick<Models, 'keys' | 'users'>;
}

type WatchedKey = Pick<KeyDocument, '_id' | 'user_id' | 'expires_at'>;

/** The keys of a process's long connections. */
export class KeyWatch {
  readonly #deps: KeyWatchDeps;
  readonly #watched = new Map<string, Set<() => void>>();
  #timer: Timer | null = null;
  #isChecking = false;

  constructor(deps: KeyWatchDeps) {
    this.#deps = deps;
  }

  /**
   * Calls `onEnd` once, some seconds after the caller's key has ended. Returns a function that stops
   * watching.
   */
  watch({ keyId }: { readonly keyId: string }, onEnd: () => void): () => void {
    const listener = () => onEnd();
    const listeners = this.#watched.get(keyId) ?? new Set();
    this.#watched.set(keyId, listeners.add(listener));
    this.#timer ??= outsideRequest(() => this.#deps.clock.every(CHECK_MS, () => void this.#check()));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#watched.get(keyId) === listeners) this.#forget(keyId);
    };
  }

  /** Never rejects: connections stay open while the database does not answer. */
  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    const { clock, logger } = this.#deps;
    try {
      await inBatches(clock, [...this.#watched.keys()], (ids) => this.#endInvalid(ids));
    } catch (error) {
      logger.warn({ err: error }, 'failed to check the keys of open connections');
    } finally {
      this.#isChecking = false;
    }
  }

  async #endInvalid(ids: readonly string[]): Promise<void> {
    const valid = await this.#validOf(ids);
    for (const id of ids) {
      if (valid.has(id)) continue;
      const ended = this.#watched.get(id) ?? [];
      this.#forget(id);
      for (const end of ended) end();
    }
  }

  async #validOf(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const { keys, users } = this.#deps.models;
    const found = await keys
      .find({ _id: { $in: [...ids] } }, { user_id: 1, expires_at: 1 })
      .lean<WatchedKey[]>();
    const owners = await users
      .find({ _id: { $in: [...new Set(found.map(({ user_id }) => user_id))] } }, { _id: 1 })
      .lean<Pick<UserDocument, '_id'>[]>();
    const existing = new Set(owners.map(({ _id }) => _id));
    const at = new Date(this.#deps.clock.wallTime());
    const valid = found.filter((key) => existing.has(key.user_id) && !hasExpired(key, at));
    return new Set(valid.map(({ _id }) => _id));
  }

  #forget(keyId: string): void {
    this.#watched.delete(keyId);
    if (this.#watched.size > 0) return;
    this.#timer?.cancel();
    this.#timer = null;
  }
}
