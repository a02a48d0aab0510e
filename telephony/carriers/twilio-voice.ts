/**
 * Calls to numbers of a customer's own account at Twilio, which come as a media stream: where Twilio sends
 * them, its signed question about each, and the answers in TwiML
 * (www.twilio.com/docs/voice/twiml/stream, www.twilio.com/docs/usage/security).
 */
import twilio from 'twilio';
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import type { CarrierRequest } from './carrier.ts';
import { asFault, createTwilioClient, PASSING, type TwilioAccess, withRetries } from './twilio-client.ts';
import { twilioSignature } from './twilio-signature.ts';

/** Numbers that were bought in its console play its own greeting. */
const DEMO = 'https://demo.twilio.com/';

const question = z.object({
  AccountSid: z.string().max(64),
  CallSid: z.string().regex(/^CA[0-9a-f]{32}$/i),
  From: z.string().max(64).default(''),
});
const owned = z.object({
  sid: z.string().min(1),
  phoneNumber: z.string(),
  voiceUrl: z.string().nullish(),
  voiceApplicationSid: z.string().nullish(),
  trunkSid: z.string().nullish(),
});

/** An incoming call. */
export interface TwilioCall {
  readonly callSid: string;
  readonly callerNumber: string;
}

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
    const target = targetOf(number);
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
  client: ReturnType<typeof createTwilioClient>,
  phoneNumber: string,
): Promise<z.output<typeof owned> | undefined> {
  const numbers = await withRetries(PASSING, async () =>
    z.array(owned).parse(await client.incomingPhoneNumbers.list({ phoneNumber, limit: 50 })),
  );
  return numbers.find((each) => each.phoneNumber === phoneNumber);
}

/** Where calls to the number go; null if nowhere. */
function targetOf({ voiceUrl, voiceApplicationSid, trunkSid }: z.output<typeof owned>): string | null {
  const target = trunkSid || voiceApplicationSid || voiceUrl || '';
  return target === '' || target.startsWith(DEMO) ? null : target;
}

/**
 * Reads the question about a call. The signature covers the URL and every field. Throws
 * `callback_not_genuine`.
 */
export function readTwilioCall(
  { accountSid, authToken }: Pick<TwilioAccess, 'accountSid' | 'authToken'>,
  { url, headers, form }: CarrierRequest,
): TwilioCall {
  const [head, asked] = [twilioSignature.safeParse(headers), question.safeParse(form)];
  if (
    !head.success ||
    !asked.success ||
    asked.data.AccountSid !== accountSid ||
    !twilio.validateRequest(authToken, head.data['x-twilio-signature'], url, form)
  )
    throw fault('callback_not_genuine');
  return { callSid: asked.data.CallSid, callerNumber: asked.data.From };
}

/** What Twilio does with a call, in its own format. */
export const TWIML = 'text/xml; charset=utf-8';

/** Connects the call to a media stream in both directions, and hangs up when that ends. */
export function connectStream(url: string): string {
  const answer = new twilio.twiml.VoiceResponse();
  answer.connect().stream({ url });
  return answer.toString();
}

/** Refuses the call, which costs nothing: the caller hears that the line is busy, or out of service. */
export function rejectCall(reason: 'busy' | 'rejected'): string {
  const answer = new twilio.twiml.VoiceResponse();
  answer.reject({ reason });
  return answer.toString();
}
