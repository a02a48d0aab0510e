/**
 * Ends long connections whose API key was deleted or has expired. Each process reads the keys of its own
 * connections every few seconds, each key once however many connections it has opened.
 */
import type { WebSocket } from 'ws';
import type { Timer } from '#base/clock.ts';
import { type Context, now } from '../context.ts';
import { inBatches } from '../store/in-batches.ts';
import type { KeyDocument } from '../store/models/key-model.ts';
import type { UserDocument } from '../store/models/user-model.ts';
import { outsideRequest } from '../store/request-wait.ts';
import { type Caller, hasExpired } from './auth.ts';

const CHECK_MS = 3_000;
/** A client that has not answered the close frame for so long is cut off. */
const CLOSE_MS = 2_000;
/** Policy violation (RFC 6455 §7.4.1). */
const KEY_ENDED = 1008;

type WatchedKey = Pick<KeyDocument, '_id' | 'user_id' | 'expires_at'>;

/** The keys of a process's long connections. */
export class KeyWatch {
  readonly #deps: Pick<Context, 'clock' | 'logger' | 'models'>;
  readonly #watched = new Map<string, Set<() => void>>();
  #timer: Timer | null = null;
  #isChecking = false;

  constructor(deps: Pick<Context, 'clock' | 'logger' | 'models'>) {
    this.#deps = deps;
  }

  /**
   * Calls `onEnd` once, some seconds after the caller's key has ended. Returns a function that stops watching.
   */
  watch({ keyId }: Pick<Caller, 'keyId'>, onEnd: () => void): () => void {
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
    const at = now(this.#deps);
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

/** Closes a WebSocket with 1008 once the key that opened it has ended. */
export function closeWithKey(
  { keyWatch, clock }: Pick<Context, 'keyWatch' | 'clock'>,
  caller: Caller,
  socket: WebSocket,
): void {
  const stop = keyWatch.watch(caller, () => {
    // A client may send for as long as it leaves the close frame unanswered.
    socket.removeAllListeners('message');
    socket.close(KEY_ENDED, 'The API key was deleted or has expired');
    const cut = clock.after(CLOSE_MS, () => socket.terminate());
    socket.once('close', () => cut.cancel());
  });
  socket.once('close', stop);
}
