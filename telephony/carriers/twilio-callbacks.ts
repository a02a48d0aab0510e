/**
 * Requests Twilio makes for a call its trunk could not deliver (its "disaster recovery URL"), signed with the
 * account's token.
 */
import twilio from 'twilio';
import { z } from 'zod';
import { type LostCalls, XML } from './carrier.ts';
import { isSignedByTwilio, readTwilioForm } from './twilio-signature.ts';

const APOLOGY = 'Sorry, we cannot take your call at the moment. Please call again in a few minutes.';

const voiceRequest = z.object({
  CallSid: z.string().max(64),
  From: z.string().max(64).default(''),
  To: z.string().max(64).default(''),
});

/** Reads such requests of the account with this token. */
export function createTwilioLostCalls(authToken: string): LostCalls {
  const answer = new twilio.twiml.VoiceResponse();
  answer.say(APOLOGY);
  answer.hangup();
  return {
    apology: { contentType: XML, body: answer.toString() },
    isSigned: isSignedByTwilio,
    read(request) {
      const asked = readTwilioForm(authToken, request, voiceRequest);
      const { CallSid: carrierCallId, From: callerNumber, To: dialedNumber } = asked;
      return { carrierCallId, callerNumber, dialedNumber };
    },
  };
}
