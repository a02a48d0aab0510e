/** `Carrier`: searches, buys and releases phone numbers. Each carrier has a file beside this one. */

/** An available number, without its price. */
export interface AvailableNumber {
  readonly phoneNumber: string;
  readonly countryCode: string;
  readonly region: string;
  readonly locality: string;
}

/** Criteria of a search. */
export interface NumberSearch {
  /** ISO 3166-1 alpha-2. */
  readonly countryCode: string;
  readonly areaCode?: string | undefined;
  /** Numbers already on the platform. */
  readonly exclude: ReadonlySet<string>;
  /** Most numbers to return. */
  readonly limit: number;
}

/** The path, below the public address, to which a carrier reports calls it could not deliver. */
export const LOST_CALL_PATH = '/carriers/lost-call';

/**
 * A carrier's request about such a call: the full URL it requested, its headers by lower-case name and its
 * form fields.
 */
export interface LostCallRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly form: Readonly<Record<string, unknown>>;
}

/** A call that could not be delivered. */
export interface LostCall {
  readonly callerNumber: string;
  readonly dialedNumber: string;
  /** The carrier's id of the call. */
  readonly carrierCallId: string;
}

/** How a carrier reports calls it could not deliver, and what it then plays to the caller. */
export interface LostCalls {
  /**
   * False if the request cannot come from the carrier, whatever its body contains; the body is then not read.
   */
  isSigned(headers: LostCallRequest['headers']): boolean;
  /** Returns the call. Throws `Fault('callback_not_genuine')` if the request is not the carrier's. */
  read(request: LostCallRequest): LostCall;
  /** The announcement for the caller, in the carrier's own format. */
  readonly apology: { readonly contentType: string; readonly body: string };
}

/**
 * A vendor of phone numbers. Throws `Fault('provider_refused')` when it refuses and `provider_unreachable`
 * when it cannot be reached; in both cases nothing has changed.
 */
export interface Carrier {
  /** Name shown with every available number and in messages about refusals. */
  readonly name: string;
  /** Null if the carrier never reports such calls. */
  readonly lostCalls: LostCalls | null;
  search(query: NumberSearch): Promise<readonly AvailableNumber[]>;
  /**
   * Buys a number and returns the carrier's id of it. Throws `provider_silent` if the outcome is unknown;
   * `findBought` determines it later.
   */
  buy(phoneNumber: string): Promise<{ readonly carrierNumberId: string }>;
  /** Returns the number if the account owns it: resolves a purchase whose outcome is unknown. */
  findBought(phoneNumber: string): Promise<{ readonly carrierNumberId: string } | null>;
  /** Releases a number. Releasing one that is already released succeeds. */
  release(carrierNumberId: string): Promise<void>;
}
