/**
 * Calls that Telnyx brings as media streams: the question of a TeXML application about each, signed with the
 * account's key pair (Telnyx documentation, "Receiving webhooks": Ed25519 over timestamp and body), and the
 * answers in TeXML ("Stream").
 */
import { createPublicKey, verify } from 'node:crypto';
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { xmlText } from '#media/speech/text/ssml.ts';
import { XML } from './carrier.ts';
import { formOf, type StreamCarrier, type StreamQuestion } from './stream-carrier.ts';
import { isTelnyxKey } from './telnyx-key.ts';

/** A copied request is of no use for longer. */
const TOLERANCE_MS = 5 * 60_000;

const signed = z.object({
  'telnyx-signature-ed25519': z.string().min(1).max(256),
  'telnyx-timestamp': z.string().regex(/^[0-9]{1,12}$/),
});
const question = z.object({ CallSid: z.string().min(1).max(128), From: z.string().max(64).default('') });

export const telnyxVoice: StreamCarrier = {
  isSigned: (headers) => signed.safeParse(headers).success,
  read({ secret }, asked) {
    const call = question.safeParse(formOf(asked.body));
    if (!call.success || !isGenuine(secret, asked)) throw fault('callback_not_genuine');
    return { callId: call.data.CallSid, callerNumber: call.data.From };
  },
  connect: (url) => ({
    contentType: XML,
    body:
      `<Response><Connect><Stream url="${xmlText(url)}" codec="PCMU" bidirectionalMode="rtp" ` +
      'bidirectionalCodec="PCMU"/></Connect></Response>',
  }),
  reject: (reason) => ({ contentType: XML, body: `<Response><Reject reason="${reason}"/></Response>` }),
};

function isGenuine(publicKey: string, { headers, body, atMs }: StreamQuestion): boolean {
  const head = signed.safeParse(headers).data;
  if (!head || !isTelnyxKey(publicKey)) return false;
  const timestamp = head['telnyx-timestamp'];
  if (Math.abs(atMs - Number(timestamp) * 1_000) > TOLERANCE_MS) return false;
  const x = Buffer.from(publicKey, 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const signature = Buffer.from(head['telnyx-signature-ed25519'], 'base64');
  return verify(null, Buffer.from(`${timestamp}|${body}`), key, signature);
}
