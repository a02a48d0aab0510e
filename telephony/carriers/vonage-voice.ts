/**
 * Calls that Vonage brings over WebSocket: its signed question about each (Vonage documentation, "Webhooks:
 * decoding signed webhooks"), and the answers as call control objects ("NCCO reference: connect").
 */
import { createHash } from 'node:crypto';
import { jwtVerify } from 'jose';
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { isSameSecret } from '#base/same-secret.ts';
import { fault } from '#config/errors.ts';
import { type StreamCarrier, type StreamQuestion, withPlus } from './stream-carrier.ts';

const JSON_TYPE = 'application/json; charset=utf-8';
/** A copied request is of no use for longer. */
const MAX_AGE_SECONDS = 300;

const signed = z.object({ authorization: z.string().startsWith('Bearer ').max(4_096) });
const claims = z.object({ api_key: z.string(), payload_hash: z.string() });
const question = z.object({ uuid: z.string().min(1).max(64), from: z.string().max(64).default('') });

export const vonageVoice: StreamCarrier = {
  isSigned: (headers) => signed.safeParse(headers).success,
  async read({ account, secret }, asked) {
    const call = parseJson(question, asked.body);
    if (!call || !(await isGenuine({ account, secret }, asked))) throw fault('callback_not_genuine');
    return { callId: call.uuid, callerNumber: withPlus(call.from) };
  },
  connect: (url) => ({
    contentType: JSON_TYPE,
    body: JSON.stringify([
      {
        action: 'connect',
        endpoint: [{ type: 'websocket', uri: url, 'content-type': 'audio/l16;rate=16000', headers: {} }],
      },
    ]),
  }),
  /** Vonage has no other way to refuse a call than to do nothing with it. */
  reject: () => ({ contentType: JSON_TYPE, body: '[]' }),
};

async function isGenuine(
  { account, secret }: { readonly account: string; readonly secret: string },
  { headers, body, atMs }: StreamQuestion,
): Promise<boolean> {
  const token = signed.safeParse(headers).data?.authorization.slice('Bearer '.length) ?? '';
  try {
    const { payload } = await jwtVerify(token, Buffer.from(secret), {
      algorithms: ['HS256'],
      maxTokenAge: MAX_AGE_SECONDS,
      currentDate: new Date(atMs),
    });
    const { api_key, payload_hash } = claims.parse(payload);
    const hash = createHash('sha256').update(body).digest();
    return api_key === account && isSameSecret(Buffer.from(payload_hash, 'hex'), hash);
  } catch {
    return false;
  }
}
