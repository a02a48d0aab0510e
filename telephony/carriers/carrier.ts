/**
 * `Carrier`: where phone numbers are searched, bought and given back. One file per carrier beside this one.
 */

/** A number on offer, without its price. */
export interface AvailableNumber {
  readonly phoneNumber: string;
  readonly countryCode: string;
  readonly region: string;
  readonly locality: string;
}

/** What a search asks for. */
export interface NumberSearch {
  /** ISO 3166-1 alpha-2. */
  readonly countryCode: string;
  readonly areaCode?: string | undefined;
  /** Numbers already on the platform. */
  readonly exclude: ReadonlySet<string>;
  /** How many to offer at most. */
  readonly limit: number;
}

/** The path, behind the public address, at which a carrier tells of a call it could not bring here. */
export const LOST_CALL_PATH = '/carriers/lost-call';

/**
 * A carrier's request about such a call, as it came: whom it asked for (the whole address), its headers by
 * lower-case name, and the fields of its form.
 */
export interface LostCallRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly form: Readonly<Record<string, unknown>>;
}

/** A call that found nobody here. */
export interface LostCall {
  readonly callerNumber: string;
  readonly dialedNumber: string;
  /** The carrier's own id of it. */
  readonly carrierCallId: string;
}

/** How a carrier tells of calls it could not bring here, and what it then does with the caller. */
export interface LostCalls {
  /** False for what cannot be the carrier's, whatever its body says: such a body is not read. */
  isSigned(headers: LostCallRequest['headers']): boolean;
  /** The call; throws `Fault('callback_not_genuine')` when the request is not the carrier's. */
  read(request: LostCallRequest): LostCall;
  /** What the carrier is to say to the caller, in its own words' format. */
  readonly apology: { readonly contentType: string; readonly body: string };
}

/**
 * A seller of phone numbers. Refusals are `Fault('provider_refused')`, failures to reach it
 * `provider_unreachable`; after either, nothing was done.
 */
export interface Carrier {
  /** Shown with every number on offer and in messages about refusals. */
  readonly name: string;
  /** Null where it never tells. */
  readonly lostCalls: LostCalls | null;
  search(query: NumberSearch): Promise<readonly AvailableNumber[]>;
  /**
   * Buys a number; the result is the carrier's own id of it. Throws `provider_silent` when nobody knows
   * whether it was bought: `findBought` tells, a while later.
   */
  buy(phoneNumber: string): Promise<{ readonly carrierNumberId: string }>;
  /** The number if it is ours already: asked about a purchase nobody saw the end of. */
  findBought(phoneNumber: string): Promise<{ readonly carrierNumberId: string } | null>;
  /** Gives a number back; a number already given back is not a refusal. */
  release(carrierNumberId: string): Promise<void>;
}
