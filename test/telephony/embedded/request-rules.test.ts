import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { header } from '#telephony/embedded/message.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import { startTestSignalling } from '#test/fakes/signalling.ts';
import { openRawCaller, type RawCaller, type RawRequest } from './raw-caller.ts';

/** No worker is connected and admission refuses all calls; requests refused by rule never get that far. */
describe('requests the embedded signalling refuses by rule', () => {
  let server: EmbeddedSignalling;
  let caller: RawCaller;
  let asked: number;
  let admission: Promise<never>;

  beforeEach(async () => {
    asked = 0;
    admission = Promise.reject(new Error('nobody to ask'));
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
      'RFC 3261 §8.2.2.3 an extension it does not know',
      { lines: ['Require: nothingSupportsThis, nothingSupportsThisEither'] },
      420,
      { unsupported: 'nothingSupportsThis, nothingSupportsThisEither' },
    ],
    [
      'RFC 4475 §3.3.6 of an OPTIONS too',
      { method: 'OPTIONS', lines: ['Require: nothingSupportsThis'] },
      420,
      { unsupported: 'nothingSupportsThis' },
    ],
    [
      'RFC 4475 §3.3.2 a URI scheme nobody knows',
      { uri: 'nobodyKnowsThisScheme:totallyopaquecontent' },
      416,
      {},
    ],
    [
      'RFC 3261 §8.2.1 a method nobody takes',
      { method: 'NEWMETHOD' },
      405,
      { allow: expect.stringContaining('INVITE') },
    ],
    ['RFC 3261 §12.2.2 a dialog nobody knows', { method: 'BYE', toTag: 'nobody' }, 481, {}],
  ];
  it.each(cases)('%s', async (_, request, status, headers) => {
    caller.request(request);
    const response = await caller.response(status);
    for (const [name, value] of Object.entries(headers)) expect(header(response, name)).toEqual(value);
    expect(asked).toBe(0);
  });

  it.each([
    ['Via', (port: number): RawRequest => ({ sentBy: `127.0.0.1:${port}` })],
    ['Contact', (port: number): RawRequest => ({ contact: `<sip:agent@127.0.0.1:${port}>` })],
  ])(
    'security 11: our own call that has looped back, by its %s, is refused before admission',
    async (_, own) => {
      // Responses to a Via of the server's own port would go to the server itself.
      caller.request({ ...own(server.sipPort), lines: [] });
      await expect.poll(() => server.metrics().transactions).toBe(1);
      expect([asked, server.metrics().invites]).toEqual([0, 0]);
    },
  );

  it('RFC 4475 §3.3.3 Max-Forwards concerns proxies only: a request with 0 is answered', async () => {
    caller.send(
      caller
        .request({ method: 'OPTIONS', branch: 'z9hG4bK-zero' })
        .replace('Max-Forwards: 70', 'Max-Forwards: 0')
        .replace('z9hG4bK-zero', 'z9hG4bK-other')
        .replace('CSeq: 1', 'CSeq: 2'),
    );
    await expect.poll(() => caller.responses, { timeout: 10_000 }).toEqual(['200 OPTIONS', '200 OPTIONS']);
  });

  it('RFC 3261 §8.2.2.2 the same INVITE by another path is a loop; the first one continues', async () => {
    admission = new Promise(() => undefined);
    const first = caller.request({ branch: 'z9hG4bK-one' });
    await caller.response(100);
    caller.send(first.replace('z9hG4bK-one', 'z9hG4bK-two'));
    await caller.response(482);
    expect(asked).toBe(1);
    caller.request({ method: 'ACK', branch: 'z9hG4bK-two' });
  });

  it('a refused call may be tried again', async () => {
    caller.request({ branch: 'z9hG4bK-one' });
    await caller.response(503);
    caller.request({ branch: 'z9hG4bK-two' });
    await expect.poll(() => asked, { timeout: 10_000 }).toBe(2);
    expect(caller.responses).not.toContain('482 INVITE');
  });
});
