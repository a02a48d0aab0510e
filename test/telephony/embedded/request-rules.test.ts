import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { header } from '#telephony/embedded/message.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import { startTestSignalling } from '#test/fakes/signalling.ts';
import { openRawCaller, type RawCaller, type RawRequest } from './raw-caller.ts';

/** No worker is connected and admission refuses all calls; requests refused by rule never get that far. */
describe('the embedded signalling', () => {
  let server: EmbeddedSignalling;
  let caller: RawCaller;
  let asked: number;
  let admission: Promise<never>;

  beforeEach(async () => {
    asked = 0;
    admission = Promise.reject(new Error('admission is unreachable'));
    admission.catch(() => undefined);
    server = await startTestSignalling({
      admit: () => {
        asked += 1;
        return admission;
      },
    });
    caller = await openRawCaller(server.sipPort);
  });

  afterEach(async () => {
    caller.close();
    await server.close();
  });

  const cases: readonly [string, RawRequest, number, Readonly<Record<string, string>>][] = [
    [
      'RFC 3261 §8.2.2.3 420 for an unknown extension',
      { lines: ['Require: nothingSupportsThis, nothingSupportsThisEither'] },
      420,
      { unsupported: 'nothingSupportsThis, nothingSupportsThisEither' },
    ],
    [
      'RFC 4475 §3.3.6 420 for an unknown extension in an OPTIONS',
      { method: 'OPTIONS', lines: ['Require: nothingSupportsThis'] },
      420,
      { unsupported: 'nothingSupportsThis' },
    ],
    ['RFC 4475 §3.3.2 416 for an unknown URI scheme', { uri: 'unknownScheme:totallyopaquecontent' }, 416, {}],
    [
      'RFC 3261 §8.2.1 405 for an unknown method',
      { method: 'NEWMETHOD' },
      405,
      { allow: expect.stringContaining('INVITE') },
    ],
    [
      '503 for a dialog that no worker could be asked about',
      { method: 'BYE', toTag: 'unknown' },
      503,
      { 'retry-after': '2' },
    ],
  ];
  it.each(cases)('answers by rule: %s', async (_, request, status, headers) => {
    caller.request(request);
    const response = await caller.response(status);
    for (const [name, value] of Object.entries(headers)) expect(header(response, name)).toEqual(value);
    expect(asked).toBe(0);
  });

  it.each([
    ['Via', (port: number): RawRequest => ({ sentBy: `127.0.0.1:${port}` })],
    ['Contact', (port: number): RawRequest => ({ contact: `<sip:agent@127.0.0.1:${port}>` })],
  ])(
    'security 11: rejects our own call that has looped back, by its %s, before admission',
    async (_, own) => {
      // Responses to a Via of the server's own port would go to the server itself.
      caller.request({ ...own(server.sipPort), lines: [] });
      await expect.poll(() => server.metrics().transactions).toBe(1);
      expect([asked, server.metrics().invites]).toEqual([0, 0]);
    },
  );

  it('RFC 4475 §3.3.3 answers a request with Max-Forwards 0, which concerns proxies only', async () => {
    caller.send(
      caller
        .request({ method: 'OPTIONS', branch: 'z9hG4bK-zero' })
        .replace('Max-Forwards: 70', 'Max-Forwards: 0')
        .replace('z9hG4bK-zero', 'z9hG4bK-other')
        .replace('CSeq: 1', 'CSeq: 2'),
    );
    await expect.poll(() => caller.responses, { timeout: 10_000 }).toEqual(['200 OPTIONS', '200 OPTIONS']);
  });

  it('RFC 3261 §8.2.2.2 rejects the same INVITE by another path as a loop; the first one continues', async () => {
    admission = new Promise(() => undefined);
    const first = caller.request({ branch: 'z9hG4bK-one' });
    await caller.response(100);
    caller.send(first.replace('z9hG4bK-one', 'z9hG4bK-two'));
    await caller.response(482);
    expect(asked).toBe(1);
    caller.request({ method: 'ACK', branch: 'z9hG4bK-two' });
  });

  it('accepts another attempt at a rejected call', async () => {
    caller.request({ branch: 'z9hG4bK-one' });
    await caller.response(503);
    caller.request({ branch: 'z9hG4bK-two' });
    await expect.poll(() => asked, { timeout: 10_000 }).toBe(2);
    expect(caller.responses).not.toContain('482 INVITE');
  });
});
