import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { header, headerList, parameter } from '#telephony/embedded/message.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import type { IncomingInvite, Signalling } from '#telephony/signalling.ts';
import { connectTestWorker, startTestSignalling } from '#test/fakes/signalling.ts';
import { openRawCaller, type RawCaller } from './raw-caller.ts';
import { TORTURE_MESSAGES } from './torture/torture-messages.ts';

const PATIENCE = { timeout: 15_000, interval: 5 };
const sdp =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n';

/** Every message is sent as in the RFC, except for the top Via, which names the test's own port. */
describe('the embedded signalling under the torture test of RFC 4475', () => {
  let server: EmbeddedSignalling;
  let worker: Signalling;
  let invites: IncomingInvite[];
  let caller: RawCaller;

  beforeEach(async () => {
    invites = [];
    server = await startTestSignalling();
    worker = await connectTestWorker(server);
    worker.onInvite((invite) => invites.push(invite));
    caller = await openRawCaller(server.sipPort);
  });

  afterEach(async () => {
    caller.close();
    worker.close();
    await server.close();
  });

  /** Sends a message so that its responses reach the caller. */
  function send(text: string): void {
    caller.send(
      text.replace(
        /^((?:via|v)\s*:\s*SIP\s*\/\s*[\d.]+\s*\/\s*\w+\s+)[^;\s,]+/im,
        `$1127.0.0.1:${caller.port}`,
      ),
    );
  }

  /** Sends a request whose response proves that the server has processed all earlier messages. */
  async function expectServing(): Promise<void> {
    caller.request({ method: 'OPTIONS', callId: 'still-there' });
    await caller.next(
      ({ start, headers }) => start.kind === 'response' && header({ headers }, 'call-id') === 'still-there',
      PATIENCE.timeout,
    );
  }

  it.each(TORTURE_MESSAGES.filter(({ outcome }) => typeof outcome === 'number'))(
    'answers $name with $outcome: $about',
    async ({ outcome, text }) => {
      send(text);
      const answer = await caller.next(
        ({ start }) => start.kind === 'response' && start.status >= 200,
        PATIENCE.timeout,
      );
      expect(answer.start).toMatchObject({ status: outcome });
      const callId = /^(?:call-id|i)\s*:\s*(.*)$/im.exec(text)?.[1]?.trim();
      if (callId !== undefined) expect(header(answer, 'call-id')).toBe(callId);
      if (header(answer, 'to') !== null) expect(parameter(header(answer, 'to') ?? '', 'tag')).not.toBeNull();
      await expectServing();
      expect(invites).toEqual([]);
      expect(server.metrics().dialogs).toBe(0);
    },
  );

  it.each(TORTURE_MESSAGES.filter(({ outcome }) => outcome === null))(
    'does not answer $name: $about',
    async ({ text }) => {
      send(text);
      await expectServing();
      expect(caller.responses).toEqual(['200 OPTIONS']);
    },
  );

  it.each(TORTURE_MESSAGES.filter(({ outcome }) => outcome === 'accepted'))(
    'accepts $name: $about',
    async ({ text }) => {
      send(text);
      await expect.poll(() => invites.length, PATIENCE).toBe(1);
      invites[0]?.refuse(486);
      await caller.response(486, PATIENCE.timeout);
    },
  );

  it('is tested with all messages, each once', () => {
    expect(new Set(TORTURE_MESSAGES.map(({ name }) => name)).size).toBe(49);
  });

  it('answers an RFC 2543 caller, matches its ACK without a branch, and sends the BYE to its source', async () => {
    const text = TORTURE_MESSAGES.find(({ name }) => name === 'inv2543')?.text ?? '';
    send(text);
    await expect.poll(() => invites.length, PATIENCE).toBe(1);
    send(text);
    const dialog = await invites[0]!.answer(sdp);
    const ok = await caller.response(200, PATIENCE.timeout);
    const to = header(ok, 'to') ?? '';
    const head = text.slice(0, text.indexOf('Content-Type')).replaceAll('INVITE', 'ACK');
    send(`${head.replace(/^To:.*$/m, `To: ${to}`)}Content-Length: 0\r\n\r\n`);
    void dialog.hangUp();
    const bye = await caller.incoming('BYE', PATIENCE.timeout);
    expect([header(bye, 'to'), header(bye, 'call-id')]).toEqual([
      '<sip:+13035551111@ift.client.example.net;user=phone>',
      'inv2543.1717@ift.client.example.com',
    ]);
    expect(invites).toHaveLength(1);
  });

  it('returns every Via in order, with the actual source of the request', async () => {
    send(TORTURE_MESSAGES.find(({ name }) => name === 'transports')?.text ?? '');
    const vias = headerList(await caller.response(200, PATIENCE.timeout), 'via');
    expect(vias).toHaveLength(5);
    expect(vias[0]).toContain(';received=127.0.0.1');
    expect(vias[3]).toBe('SIP/2.0/UNKNOWN t4.example.com;branch=z9hG4bKasd0f3en');
  });
});
