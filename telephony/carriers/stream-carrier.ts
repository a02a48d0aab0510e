/**
 * `StreamCarrier`: a vendor that brings calls as media streams. It asks about each call by HTTP, signed
 * with a secret of the customer's account, and is told to connect to a WebSocket. Each vendor has a file
 * beside this one.
 */
import { fault } from '#config/errors.ts';

/** Vendors send some dozens. */
const MOST_FIELDS = 500;

/** The customer's account at the vendor. */
export interface StreamAccount {
  /** Its id; empty if the vendor's requests do not name it. */
  readonly account: string;
  /** With which requests are checked. */
  readonly secret: string;
}

/** A vendor's request: the full URL it requested, its headers by lower-case name, and its body as sent. */
export interface StreamQuestion {
  readonly url: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
  /** When it came, Unix ms. */
  readonly atMs: number;
}

/** An incoming call. */
export interface StreamedCall {
  /** The vendor's id of it. */
  readonly callId: string;
  /** E.164, or as the vendor names a caller without a number. */
  readonly callerNumber: string;
}

/** An answer in the vendor's own format. */
export interface StreamAnswer {
  readonly contentType: string;
  readonly body: string;
}

/** One vendor. */
export interface StreamCarrier {
  /**
   * False if the request cannot come from the vendor, whatever its body contains; the body is then not read.
   */
  isSigned(headers: StreamQuestion['headers']): boolean;
  /** Reads the question about a call. Throws `Fault('callback_not_genuine')` if it is not the vendor's. */
  read(account: StreamAccount, question: StreamQuestion): StreamedCall | Promise<StreamedCall>;
  /** Connects the call to the stream at this address; it ends with the stream. */
  connect(url: string): StreamAnswer;
  /** Refuses the call before it is answered. */
  reject(reason: 'busy' | 'rejected'): StreamAnswer;
}

/**
 * The fields of a URL-encoded body; of several with one name, the last. Throws
 * `Fault('callback_not_genuine')` if they are too many to sort for a signature.
 */
export function formOf(body: string): Record<string, string> {
  if (body.split('&', MOST_FIELDS + 1).length > MOST_FIELDS) throw fault('callback_not_genuine');
  return Object.fromEntries(new URLSearchParams(body));
}

/** Vendors that write numbers without a plus sign. */
export function withPlus(number: string): string {
  return /^[1-9][0-9]{6,14}$/.test(number) ? `+${number}` : number;
}
