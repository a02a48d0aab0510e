import { describe, expect, it } from 'vitest';
import { signPayload } from '#control-plane/calls/webhooks/signature.ts';
import { verifyWebhook, WebhookError } from '#libraries/typescript/src/index.ts';

const SECRET = 'a long random string';
const SENT_MS = Date.UTC(2026, 0, 1);
const BODY = Buffer.from('{"event":"call.ended","session":{"id":"é"}}');
const SIGNATURE = signPayload(SECRET, BODY, SENT_MS);
/** The clock of the receiver, s after the time of sending. */
const lateBy = (seconds: number) => ({ now: () => SENT_MS + seconds * 1000 });

describe('verifyWebhook', () => {
  it.each([
    ['bytes', BODY],
    ['text', BODY.toString()],
  ])('returns the event of %s that Parley signed', (_form, body) => {
    const event = verifyWebhook({ body, signature: SIGNATURE }, SECRET, lateBy(1));
    expect(event).toEqual({ event: 'call.ended', session: { id: 'é' } });
  });

  it('ignores elements it does not know, and accepts any of several signatures', () => {
    const signature = `v0=1,v1=00, ${SIGNATURE.replace(',', ',v1=abcd,')}`;
    expect(verifyWebhook({ body: BODY, signature }, SECRET, lateBy(0)).event).toBe('call.ended');
  });

  it.each([
    ['another secret', BODY, SIGNATURE, 'another'],
    ['another body', Buffer.from('{}'), SIGNATURE, SECRET],
    ['another time', BODY, SIGNATURE.replace(/t=\d+/, 't=1767225601'), SECRET],
    ['half a signature', BODY, SIGNATURE.slice(0, -32), SECRET],
    ['no signature', BODY, null, SECRET],
    ['an empty one', BODY, '', SECRET],
    ['an endless one', BODY, SIGNATURE.padEnd(2000, ','), SECRET],
  ])('refuses a request with %s', (_case, body, signature, secret) => {
    expect(() => verifyWebhook({ body, signature }, secret, lateBy(0))).toThrow(WebhookError);
  });

  it('accepts any of several secrets, and a header as Node types it', () => {
    const signature: string | string[] | undefined = [SIGNATURE];
    const event = verifyWebhook({ body: BODY, signature }, ['the new one', SECRET], lateBy(0));
    expect(event.event).toBe('call.ended');
  });

  it.each([
    ['an empty secret', ''],
    ['none', []],
    ['an empty one among several', [SECRET, '']],
  ])('fails with %s', (_case, secret) => {
    expect(() => verifyWebhook({ body: BODY, signature: SIGNATURE }, secret, lateBy(0))).toThrow(TypeError);
  });

  it('refuses a request that was sent more than five minutes before or after now', () => {
    const verify = (seconds: number) => () =>
      verifyWebhook({ body: BODY, signature: SIGNATURE }, SECRET, lateBy(seconds));
    for (const near of [300, -300]) expect(verify(near)).not.toThrow();
    for (const far of [301, -301]) expect(verify(far)).toThrow(WebhookError);
  });
});
