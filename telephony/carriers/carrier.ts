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

/** The path, below the public address, at which a carrier asks about calls; a number's id follows. */
export const VOICE_PATH = '/carriers/voice';

/** The paths, below the public address, for a carrier's received messages and the fate of sent ones. */
export const MESSAGE_PATH = '/carriers/message';
export const MESSAGE_STATUS_PATH = '/carriers/message-status';

/** Media type of answers in XML. */
export const XML = 'text/xml; charset=utf-8';

/** A carrier's request: the full URL it requested, its headers by lower-case name and its form fields. */
export interface CarrierRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly form: Readonly<Record<string, unknown>>;
}

/** A text message to a number. */
export interface ReceivedText {
  readonly carrierMessageId: string;
  /** E.164, or a short code. */
  readonly from: string;
  readonly to: string;
  readonly text: string;
  /** It has pictures or other files, which are not read. */
  readonly hasMedia: boolean;
  /** The carrier has answered this keyword itself; null if it is ours to answer. */
  readonly answeredKeyword: 'STOP' | 'START' | 'HELP' | null;
}

/** The fate of a sent message; `fate` is null while it is on its way. */
export interface SentTextStatus {
  readonly carrierMessageId: string;
  readonly fate: 'delivered' | 'failed' | null;
  readonly error: string | null;
}

/** A message to be sent. */
export interface OutgoingText {
  readonly from: string;
  readonly to: string;
  readonly text: string;
  /** Where the carrier reports what became of it. */
  readonly statusUrl: string;
}

/** Outcome of sending; `unknown`: it may have been sent, which `findSent` determines later. */
export type SendOutcome =
  | { readonly outcome: 'sent'; readonly carrierMessageId: string }
  | { readonly outcome: 'refused' | 'unsent' | 'unknown'; readonly error: string };

/** Text messages of a carrier's numbers. */
export interface CarrierMessages {
  /** The answer to a received message that sends nothing back, in the carrier's own format. */
  readonly empty: { readonly contentType: string; readonly body: string };
  /** As in `LostCalls`. */
  isSigned(headers: CarrierRequest['headers']): boolean;
  /** Throws `Fault('callback_not_genuine')` if the request is not the carrier's. */
  readMessage(request: CarrierRequest): ReceivedText;
  /** Throws `Fault('callback_not_genuine')` if the request is not the carrier's. */
  readStatus(request: CarrierRequest): SentTextStatus;
  /**
   * Has the messages to a number sent to `url`. Throws as `Carrier` does, and `conflict` if they go
   * elsewhere, unless that is replaced.
   */
  deliverTo(carrierNumberId: string, url: string, options: { readonly replace: boolean }): Promise<void>;
  /** Has none sent to `url` any more; messages that go elsewhere still do. Throws as `Carrier` does. */
  stopDelivery(carrierNumberId: string, url: string): Promise<void>;
  send(text: OutgoingText): Promise<SendOutcome>;
  /** A message with this text, sent since then. Throws if the carrier cannot be asked. */
  findSent(
    text: Omit<OutgoingText, 'statusUrl'> & { readonly since: Date },
  ): Promise<{ readonly carrierMessageId: string } | null>;
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
  isSigned(headers: CarrierRequest['headers']): boolean;
  /** Returns the call. Throws `Fault('callback_not_genuine')` if the request is not the carrier's. */
  read(request: CarrierRequest): LostCall;
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
  /** Null if the carrier's numbers have no text messages. */
  readonly messages: CarrierMessages | null;
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
