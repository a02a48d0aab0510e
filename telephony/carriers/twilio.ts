/**
 * Phone numbers of Twilio, through its SDK. Bought numbers are connected to this deployment's SIP address. A
 * purchase is repeated only if the first attempt certainly did nothing.
 */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { type AvailableNumber, type Carrier, LOST_CALL_PATH, type NumberSearch } from './carrier.ts';
import { createTwilioLostCalls } from './twilio-callbacks.ts';
import {
  asFault,
  createTwilioClient,
  PASSING,
  type TwilioAccess,
  type TwilioClient,
  withRetries,
} from './twilio-client.ts';
import { type TwilioFailureKind, toTwilioFailure } from './twilio-failure.ts';
import { createTwilioMessages } from './twilio-messages.ts';

/** How to reach Twilio, and where it sends calls. */
export interface TwilioOptions extends TwilioAccess {
  /** Where calls to bought numbers go, `host:port`; without it bought numbers are connected to nothing. */
  readonly sipAddress?: string | undefined;
  /**
   * Where Twilio reaches our API. Passed to Twilio if it is `https`: Twilio then reports calls it cannot
   * deliver to the SIP address, and our answer contains the announcement for the caller.
   */
  readonly publicUrl?: string | undefined;
}

const MAX_NAME = 64;
/** Failures after which nothing was done, so any request is repeated. */
const HARMLESS: ReadonlySet<TwilioFailureKind> = new Set(['busy', 'unsent']);

const offered = z.object({
  phoneNumber: z.string(),
  isoCountry: z.string(),
  region: z.string().nullish(),
  locality: z.string().nullish(),
});
const owned = z.object({
  sid: z.string().min(1),
  phoneNumber: z.string(),
  friendlyName: z.string().nullish(),
});
const trunkShape = z.object({
  sid: z.string().min(1),
  friendlyName: z.string().nullish(),
  disasterRecoveryUrl: z.string().nullish(),
});
const originationShape = z.object({ sipUrl: z.string() });

/** Creates the carrier; sends nothing before it is used. */
export function createTwilioCarrier(options: TwilioOptions): Carrier {
  const client = createTwilioClient(options);
  const { sipAddress, publicUrl } = options;
  const lostCallUrl = publicUrl?.startsWith('https:') ? `${publicUrl}${LOST_CALL_PATH}` : null;
  const trunk = sipAddress === undefined ? null : new Trunk(client, sipAddress, lostCallUrl);
  return {
    name: 'Twilio',
    lostCalls: createTwilioLostCalls(options.authToken),
    messages: createTwilioMessages(client, options.authToken),
    search: (query) => asFault(() => search(client, query)),
    buy: (phoneNumber) => asFault(() => buy(client, trunk, phoneNumber)),
    findBought: (phoneNumber) => asFault(() => findBought(client, phoneNumber)),
    release: (carrierNumberId) => asFault(() => release(client, carrierNumberId)),
  };
}

async function search(
  client: TwilioClient,
  { countryCode, areaCode, exclude, limit }: NumberSearch,
): Promise<AvailableNumber[]> {
  const filter = {
    voiceEnabled: true,
    ...(areaCode !== undefined && { areaCode: Number(areaCode) }),
    limit,
    pageSize: limit,
  };
  const found = await withRetries(PASSING, async () =>
    z.array(offered).parse(await client.availablePhoneNumbers(countryCode).local.list(filter)),
  );
  return found
    .filter((number) => !exclude.has(number.phoneNumber))
    .map((number) => ({
      phoneNumber: number.phoneNumber,
      countryCode: number.isoCountry,
      region: number.region ?? '',
      locality: number.locality ?? '',
    }));
}

async function buy(
  client: TwilioClient,
  trunk: Trunk | null,
  phoneNumber: string,
): Promise<{ carrierNumberId: string }> {
  const trunkSid = await trunk?.sid();
  try {
    const order = {
      phoneNumber,
      friendlyName: nameOf(phoneNumber),
      ...(trunkSid !== undefined && { trunkSid }),
    };
    const bought = await withRetries(HARMLESS, async () =>
      owned.parse(await client.incomingPhoneNumbers.create(order)),
    );
    return { carrierNumberId: bought.sid };
  } catch (error) {
    const failure = toTwilioFailure(error);
    // The trunk may have been deleted.
    trunk?.forget();
    if (failure.kind !== 'failed' && failure.kind !== 'silent') throw failure;
    const bought = await findBought(client, phoneNumber).catch(() => undefined);
    if (bought) return bought;
    // After an answer the purchase is complete; without one it may still be in progress.
    if (failure.kind === 'failed' && bought === null) throw failure;
    throw fault('provider_silent', { provider: 'Twilio' });
  }
}

/** The account may own numbers for other uses: only those bought here count. */
async function findBought(
  client: TwilioClient,
  phoneNumber: string,
): Promise<{ carrierNumberId: string } | null> {
  const numbers = await withRetries(PASSING, async () =>
    z.array(owned).parse(await client.incomingPhoneNumbers.list({ phoneNumber, limit: 50 })),
  );
  const ours = numbers.find(
    (number) => number.phoneNumber === phoneNumber && number.friendlyName === nameOf(phoneNumber),
  );
  return ours ? { carrierNumberId: ours.sid } : null;
}

async function release(client: TwilioClient, carrierNumberId: string): Promise<void> {
  try {
    await withRetries(PASSING, () => client.incomingPhoneNumbers(carrierNumberId).remove());
  } catch (error) {
    if (toTwilioFailure(error).status !== 404) throw error;
  }
}

/** Marks a number of the account as bought here. */
function nameOf(phoneNumber: string): string {
  return `Parley ${phoneNumber}`;
}

/**
 * The Elastic SIP trunk whose origination is this deployment. Created at the first purchase and found by its
 * name afterwards.
 */
class Trunk {
  readonly #client: TwilioClient;
  readonly #name: string;
  readonly #sipUrl: string;
  readonly #lostCallUrl: string | null;
  #sid: Promise<string> | null = null;

  constructor(client: TwilioClient, sipAddress: string, lostCallUrl: string | null) {
    this.#client = client;
    this.#name = `Parley ${sipAddress}`.slice(0, MAX_NAME);
    this.#sipUrl = `sip:${sipAddress}`;
    this.#lostCallUrl = lostCallUrl;
  }

  /** The trunk's id. Concurrent purchases share one lookup. */
  sid(): Promise<string> {
    this.#sid ??= withRetries(PASSING, () => this.#ensure()).catch((error: unknown) => {
      this.#sid = null;
      throw error;
    });
    return this.#sid;
  }

  /** The next purchase looks it up again. */
  forget(): void {
    this.#sid = null;
  }

  /** Every step checks before it creates, so that it can be repeated after an interruption. */
  async #ensure(): Promise<string> {
    const { trunks } = this.#client.trunking.v1;
    const known = z.array(trunkShape).parse(await trunks.list());
    const found = known.find((trunk) => trunk.friendlyName === this.#name);
    const recovery =
      this.#lostCallUrl === null
        ? {}
        : { disasterRecoveryUrl: this.#lostCallUrl, disasterRecoveryMethod: 'POST' as const };
    const { sid } = found ?? trunkShape.parse(await trunks.create({ friendlyName: this.#name, ...recovery }));
    // Keeps one that the operator has set.
    if (found && !found.disasterRecoveryUrl && this.#lostCallUrl !== null) await trunks(sid).update(recovery);
    const { originationUrls } = trunks(sid);
    const urls = z.array(originationShape).parse(await originationUrls.list());
    if (!urls.some((url) => url.sipUrl === this.#sipUrl))
      await originationUrls.create({
        weight: 1,
        priority: 1,
        enabled: true,
        friendlyName: 'Parley',
        sipUrl: this.#sipUrl,
      });
    return sid;
  }
}
