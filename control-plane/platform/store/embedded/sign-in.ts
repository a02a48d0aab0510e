/**
 * A client's sign-in with a password, by SASL PLAIN (RFC 4616). It is for connections over TCP, which every
 * program of this machine can open; a Unix socket is protected by its permissions.
 */
import { Binary } from 'bson';
import { isSameSecret } from '#base/same-secret.ts';
import type { Document } from './bson-values.ts';
import type { Command } from './command-fields.ts';
import { SESSION_COMMANDS } from './session-commands.ts';
import { StoreError } from './store-error.ts';
import { MAX_MESSAGE_BYTES } from './wire.ts';

const USER = 'parley';
/** Before the sign-in: a driver's handshake, which describes its platform, has less than 1 KB. */
const MAX_BYTES_BEFORE = 4_096;

/** Where a server listens whose clients sign in. */
export const LOOPBACK = '127.0.0.1';

/** The connection URL of such a client. */
export function signInUrl(port: number, password: string): string {
  return `mongodb://${USER}:${password}@${LOOPBACK}:${port}/?directConnection=true&authMechanism=PLAIN`;
}

/** The sign-in of one connection. */
export class SignIn {
  readonly #expected: Buffer | null;
  #state: 'awaited' | 'done' | 'failed';

  /** `password` is null for a connection that needs none. */
  constructor(password: string | null) {
    this.#expected = password === null ? null : Buffer.from(`\0${USER}\0${password}`);
    this.#state = password === null ? 'done' : 'awaited';
  }

  /** Maximum length of the client's next message. */
  get maxMessageBytes(): number {
    return this.#state === 'done' ? MAX_MESSAGE_BYTES : MAX_BYTES_BEFORE;
  }

  /** True once `take` has thrown. The connection must then be closed: each attempt needs one of its own. */
  get hasFailed(): boolean {
    return this.#state === 'failed';
  }

  /**
   * The reply to a command that signs in; null for another one, which may be run. Throws
   * `AuthenticationFailed` for a wrong password or mechanism, and `Unauthorized` for a command that needs a
   * sign-in first.
   */
  take(name: string, command: Command): Document | null {
    if (this.#expected === null) return null;
    if (name === 'saslstart') {
      this.#check(command, this.#expected);
      this.#state = 'done';
      return { conversationId: 1, done: true, payload: new Binary() };
    }
    if (this.#state === 'done' || SESSION_COMMANDS.has(name)) return null;
    throw this.#failure('Unauthorized', 'this connection has not signed in');
  }

  #check({ mechanism, payload }: Command, expected: Buffer): void {
    if (mechanism !== 'PLAIN')
      throw this.#failure('AuthenticationFailed', 'sign in with the mechanism PLAIN; there is no other');
    const given = payload instanceof Binary ? payload.value() : Buffer.alloc(0);
    if (!isSameSecret(given, expected)) throw this.#failure('AuthenticationFailed', 'the password is wrong');
  }

  #failure(kind: 'AuthenticationFailed' | 'Unauthorized', message: string): StoreError {
    this.#state = 'failed';
    return new StoreError(kind, message);
  }
}
