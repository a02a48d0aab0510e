/** Where the calls to numbers of a customer's own account at Twilio go, through its SDK. */
import { z } from 'zod';
import {
  asFault,
  createTwilioClient,
  PASSING,
  type TwilioAccess,
  type TwilioClient,
  targetOf,
  withRetries,
} from './twilio-client.ts';

const owned = z.object({
  sid: z.string().min(1),
  phoneNumber: z.string(),
  voiceUrl: z.string().nullish(),
  voiceApplicationSid: z.string().nullish(),
  trunkSid: z.string().nullish(),
});

/** Where to have the calls to a number sent. */
export interface VoiceTarget {
  readonly phoneNumber: string;
  readonly url: string;
  /** Also if they go elsewhere now. */
  readonly replace: boolean;
}

/**
 * Has calls to a number of the account sent to a URL; `unknown` if the account has no such number,
 * `elsewhere` if its calls go elsewhere. Throws `provider_refused`, `provider_unreachable`.
 */
export function sendCallsTo(
  access: TwilioAccess,
  { phoneNumber, url, replace }: VoiceTarget,
): Promise<'sent' | 'unknown' | 'elsewhere'> {
  const client = createTwilioClient(access);
  return asFault(async () => {
    const number = await findOwned(client, phoneNumber);
    if (!number) return 'unknown';
    const target = targetOf(number.trunkSid, number.voiceApplicationSid, number.voiceUrl);
    if (target !== null && target !== url && !replace) return 'elsewhere';
    // A trunk or an application would take precedence over the URL.
    const change = { voiceUrl: url, voiceMethod: 'POST', voiceApplicationSid: '', trunkSid: '' } as const;
    await withRetries(PASSING, () => client.incomingPhoneNumbers(number.sid).update(change));
    return 'sent';
  });
}

/** Has no calls sent to the URL any more; calls that go elsewhere still do. Throws as `sendCallsTo` does. */
export function stopCallsTo(
  access: TwilioAccess,
  { phoneNumber, url }: Pick<VoiceTarget, 'phoneNumber' | 'url'>,
): Promise<void> {
  const client = createTwilioClient(access);
  return asFault(async () => {
    const number = await findOwned(client, phoneNumber);
    if (number?.voiceUrl === url)
      await withRetries(PASSING, () => client.incomingPhoneNumbers(number.sid).update({ voiceUrl: '' }));
  });
}

async function findOwned(
  client: TwilioClient,
  phoneNumber: string,
): Promise<z.output<typeof owned> | undefined> {
  const numbers = await withRetries(PASSING, async () =>
    z.array(owned).parse(await client.incomingPhoneNumbers.list({ phoneNumber, limit: 50 })),
  );
  return numbers.find((each) => each.phoneNumber === phoneNumber);
}
