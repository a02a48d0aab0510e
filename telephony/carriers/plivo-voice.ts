/**
 * Calls that Plivo brings as audio streams: its signed question about each (Plivo documentation, "Validating
 * requests from Plivo", signature version 3), and the answers in its XML ("The Stream element").
 */
import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { isSameSecret } from '#base/same-secret.ts';
import { fault } from '#config/errors.ts';
import { xmlText } from '#media/speech/text/ssml.ts';
import { XML } from './carrier.ts';
import { formOf, type StreamCarrier, withPlus } from './stream-carrier.ts';

const signed = z.object({
  'x-plivo-signature-v3': z.string().min(1).max(1_024),
  'x-plivo-signature-v3-nonce': z.string().min(1).max(256),
});
const question = z.object({ CallUUID: z.string().min(1).max(64), From: z.string().max(64).default('') });

export const plivoVoice: StreamCarrier = {
  isSigned: (headers) => signed.safeParse(headers).success,
  read({ secret }, { url, headers, body }) {
    const form = formOf(body);
    const [head, asked] = [signed.safeParse(headers), question.safeParse(form)];
    if (!head.success || !asked.success) throw fault('callback_not_genuine');
    const { 'x-plivo-signature-v3': signatures, 'x-plivo-signature-v3-nonce': nonce } = head.data;
    const expected = plivoSignature(secret, { url, form, nonce });
    // One for each token of the account.
    if (!signatures.split(',').some((signature) => isSameSecret(signature, expected)))
      throw fault('callback_not_genuine');
    return { callId: asked.data.CallUUID, callerNumber: withPlus(asked.data.From) };
  },
  connect: (url) => ({
    contentType: XML,
    body:
      '<Response><Stream bidirectional="true" keepCallAlive="true" contentType="audio/x-mulaw;rate=8000">' +
      `${xmlText(url)}</Stream></Response>`,
  }),
  reject: (reason) => ({ contentType: XML, body: `<Response><Hangup reason="${reason}"/></Response>` }),
};

/** Over the URL, the fields sorted by name, and a nonce; the URL of a number has no query. */
function plivoSignature(
  authToken: string,
  {
    url,
    form,
    nonce,
  }: { readonly url: string; readonly form: Record<string, string>; readonly nonce: string },
): string {
  const fields = Object.keys(form)
    .sort()
    .map((name) => `${name}${form[name]}`);
  return createHmac('sha256', authToken)
    .update(`${url}?${fields.join('')}.${nonce}`)
    .digest('base64');
}
