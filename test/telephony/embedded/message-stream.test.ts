import { describe, expect, it } from 'vitest';
import { MAX_MESSAGE_BYTES } from '#telephony/embedded/message.ts';
import { MessageStream } from '#telephony/embedded/message-stream.ts';

describe('a byte stream of SIP', () => {
  it('is split into the same messages whatever the size of its pieces', () => {
    const message = (body: string) =>
      `INVITE sip:a@b SIP/2.0\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const messages = ['', 'v=0', 'x'.repeat(60_000), ''].map(message);
    for (const size of [1, 7, 1_460, 200_000]) {
      const stream = new MessageStream();
      const bytes = Buffer.from(`\r\n\r\n${messages.join('\r\n')}`);
      const texts: string[] = [];
      for (let at = 0; at < bytes.length; at += size)
        texts.push(...stream.take(bytes.subarray(at, at + size)).map(({ text }) => text));
      expect([texts, stream.isPartial]).toEqual([messages, false]);
    }
  });

  it('is rejected at the maximum message length if no message ends', () => {
    const stream = new MessageStream();
    expect(stream.take(Buffer.alloc(MAX_MESSAGE_BYTES, 'a'))).toEqual([]);
    expect(stream.take(Buffer.from('aa'))).toMatchObject([{ isBroken: true }]);
  });
});
