/** `Carrier`: where phone numbers are searched, bought and given back. One file per carrier beside this one. */

/** A number on offer (running.md, "Search of numbers"), without its price. */
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

/** A seller of phone numbers. Refusals are `Fault('provider_refused')`, failures to reach it `provider_unreachable`; after either, nothing was done. */
export interface Carrier {
  /** Shown with every number on offer and in messages about refusals. */
  readonly name: string;
  search(query: NumberSearch): Promise<readonly AvailableNumber[]>;
  /** Buys a number; the result is the carrier's own id of it. Throws `provider_silent` when nobody knows whether it was bought: `findBought` tells, a while later. */
  buy(phoneNumber: string): Promise<{ readonly carrierNumberId: string }>;
  /** The number if it is ours already: asked about a purchase nobody saw the end of. */
  findBought(phoneNumber: string): Promise<{ readonly carrierNumberId: string } | null>;
  /** Gives a number back; a number already given back is not a refusal. */
  release(carrierNumberId: string): Promise<void>;
}
