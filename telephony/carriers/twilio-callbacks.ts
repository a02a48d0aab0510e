/**
 * Requests Twilio makes for a call its trunk could not deliver (its "disaster recovery URL"), signed with the
 * account's token.
 */
import twilio from 'twilio';
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import type { LostCalls } from './carrier.ts';
import { isSignedByTwilio, twilioSignature } from './twilio-signature.ts';

const APOLOGY = 'Sorry, we cannot take your call at the moment. Please call again in a few minutes.';

const voiceRequest = z.object({
  CallSid: z.string().max(64),
  From: z.string().max(64).default(''),
  To: z.string().max(64).default(''),
});

/**
 * Reads such requests of the account with this token. The signature covers the URL and every field
 * (www.twilio.com/docs/usage/security).
 */
export function createTwilioLostCalls(authToken: string): LostCalls {
  const answer = new twilio.twiml.VoiceResponse();
  answer.say(APOLOGY);
  answer.hangup();
  return {
    apology: { contentType: 'text/xml; charset=utf-8', body: answer.toString() },
    isSigned: isSignedByTwilio,
    read({ url, headers, form }) {
      const [head, asked] = [twilioSignature.safeParse(headers), voiceRequest.safeParse(form)];
      if (
        !head.success ||
        !asked.success ||
        !twilio.validateRequest(authToken, head.data['x-twilio-signature'], url, form)
      )
        throw fault('callback_not_genuine');
      const { CallSid: carrierCallId, From: callerNumber, To: dialedNumber } = asked.data;
      return { carrierCallId, callerNumber, dialedNumber };
    },
  };
}
