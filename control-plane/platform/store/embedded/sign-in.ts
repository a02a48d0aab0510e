/**
 * A client's sign-in with a password, by SASL PLAIN (RFC 4616). It is for connections over TCP, which every
 * program of this machine can open; a Unix socket is protected by its permissions.
 */
import { timingSafeEqual } from 'node:crypto';
import { binaryParts, bsonType, type Document } from './bson-values.ts';
import type { Command } from './command-fields.ts';
import { SESSION_COMMANDS } from './session-commands.ts';
import { StoreError } from './store-error.ts';

const USER = 'parley';

/** Where a server listens whose clients sign in. */
export const LOOPBACK = '127.0.0.1';

/** The connection URL of such a client. */
export function signInUrl(port: number | null, password: string | null): string {
  return `mongodb://${USER}:${password}@${LOOPBACK}:${port}/?directConnection=true&authMechanism=PLAIN`;
}

/** The sign-in of one connection. */
export class SignIn {
  readonly #expected: Buffer | null;
  #isSignedIn: boolean;

  /** `password` is null for a connection that needs none. */
  constructor(password: string | null) {
    this.#expected = password === null ? null : Buffer.from(`\0${USER}\0${password}`);
    this.#isSignedIn = password === null;
  }

  /**
   * The reply to a command that signs in; null for another one, which may be run. Throws
   * `AuthenticationFailed` for a wrong password, and `Unauthorized` for a command that needs a sign-in first.
   */
  take(name: string, { payload }: Command): Document | null {
    if (name === 'saslstart') {
      this.#isSignedIn = bsonType(payload) === 'Binary' && this.#isExpected(binaryParts(payload).bytes);
      if (!this.#isSignedIn) throw new StoreError('AuthenticationFailed', 'the password is wrong');
      return { conversationId: 1, done: true, payload };
    }
    if (!this.#isSignedIn && !SESSION_COMMANDS.has(name))
      throw new StoreError('Unauthorized', 'this connection has not signed in');
    return null;
  }

  #isExpected(given: Uint8Array): boolean {
    return given.length === this.#expected?.length && timingSafeEqual(given, this.#expected);
  }
}
