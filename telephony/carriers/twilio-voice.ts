/**
 * Calls that Twilio brings as media streams: its signed question about each, and the answers in TwiML
 * (www.twilio.com/docs/voice/twiml/stream, www.twilio.com/docs/usage/security).
 */
import twilio from 'twilio';
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { XML } from './carrier.ts';
import { formOf, type StreamCarrier } from './stream-carrier.ts';
import { isSignedByTwilio, readTwilioForm } from './twilio-signature.ts';

const question = z.object({
  AccountSid: z.string().max(64),
  CallSid: z.string().regex(/^CA[0-9a-f]{32}$/i),
  From: z.string().max(64).default(''),
});

export const twilioVoice: StreamCarrier = {
  isSigned: isSignedByTwilio,
  read({ account, secret }, { url, headers, body }) {
    const asked = readTwilioForm(secret, { url, headers, form: formOf(body) }, question);
    if (asked.AccountSid !== account) throw fault('callback_not_genuine');
    return { callId: asked.CallSid, callerNumber: asked.From };
  },
  /** The call ends with the stream. */
  connect(url) {
    const answer = new twilio.twiml.VoiceResponse();
    answer.connect().stream({ url });
    return { contentType: XML, body: answer.toString() };
  },
  reject(reason) {
    const answer = new twilio.twiml.VoiceResponse();
    answer.reject({ reason });
    return { contentType: XML, body: answer.toString() };
  },
};
