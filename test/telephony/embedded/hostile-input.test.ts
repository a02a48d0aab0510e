import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import type { AdmissionAnswer } from '#protocol/sip-admission.ts';
import { header } from '#telephony/embedded/message.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import type { IncomingInvite, Signalling, SipDialog } from '#telephony/signalling.ts';
import { connectTestWorker, startTestSignalling } from '#test/fakes/signalling.ts';
import { openRawCaller, type RawCaller } from './raw-caller.ts';

const route: AdmissionAnswer = { action: 'route', data: { tag: 'worker-1' } };
const sdp =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n';

describe('hostile network input to the embedded signalling', () => {
  let server: EmbeddedSignalling;
  let worker: Signalling;
  let caller: RawCaller;
  let admit: () => Promise<AdmissionAnswer>;
  let invites: IncomingInvite[];

  beforeEach(async () => {
    admit = async () => route;
    invites = [];
    server = await startTestSignalling({
      admit: () => admit(),
    });
    worker = await connectTestWorker(server);
    worker.onInvite((invite) => invites.push(invite));
    caller = await openRawCaller(server.sipPort);
  });

  afterEach(async () => {
    caller.close();
    worker.close();
    await server.close();
  });

  async function answered(request: Parameters<RawCaller['request']>[0] = {}): Promise<SipDialog> {
    caller.request({ body: sdp, ...request });
    await expect.poll(() => invites.length, { interval: 5 }).toBe(1);
    const dialog = await invites[0]!.answer(sdp);
    await caller.response(200);
    return dialog;
  }

  /** Places a normal call to prove that the server still works. */
  async function expectNextCallIsNormal(): Promise<void> {
    const next = await openRawCaller(server.sipPort);
    try {
      const before = invites.length;
      next.request({ body: sdp });
      await expect.poll(() => invites.length, { interval: 5 }).toBe(before + 1);
      invites[before]!.refuse(486);
      await next.response(486);
    } finally {
      next.close();
    }
  }

  it.each([
    ['port 0', '<sip:caller@127.0.0.1:0>'],
    ['an impossible port', '<sip:caller@127.0.0.1:99999>'],
    ['a name without an address', '<sip:caller@caller.invalid>'],
  ])('a BYE goes to the address the caller’s packets came from if the Contact has %s', async (_, contact) => {
    const dialog = await answered({ contact });
    void dialog.hangUp();
    await caller.incoming('BYE');
    await expectNextCallIsNormal();
  });

  it.each([
    ['none', null],
    ['*', '*'],
    ['an empty address', '<>'],
    ['a telephone number', '<tel:+15550100>'],
  ])('an INVITE whose Contact is %s never remains an open call', async (_, contact) => {
    caller.request({ contact, body: sdp });
    await expect.poll(() => invites.length + caller.responses.length, { interval: 5 }).toBeGreaterThan(0);
    await invites[0]?.answer(sdp).catch(() => undefined);
    const end = await caller.next(({ start }) =>
      start.kind === 'response' ? start.status >= 400 : start.method === 'BYE',
    );
    expect(end).toBeTruthy();
    await expectNextCallIsNormal();
  });

  it.each(['127.0.0.1:0', '127.0.0.1:99999'])(
    'a Via naming %s is answered at its source address, and leaves no state behind',
    async (sentBy) => {
      for (let n = 0; n < 20; n++) caller.request({ method: 'OPTIONS', sentBy });
      await expect.poll(() => caller.responses.filter((text) => text === '200 OPTIONS').length).toBe(20);
      expect(server.metrics().malformed).toBe(0);
      await expectNextCallIsNormal();
    },
  );

  it('the answer is not retransmitted after the caller’s BYE, even if its ACK was lost', async () => {
    await answered();
    const ok = await caller.response(200);
    const toTag = /tag=([^;\s]+)/.exec(ok.headers.find(({ name }) => name === 'To')?.value ?? '')?.[1] ?? '';
    caller.request({ method: 'BYE', toTag, cseq: 2 });
    await caller.next((message) => message.start.kind === 'response' && caller.responses.includes('200 BYE'));
    const before = caller.responses.filter((text) => text === '200 INVITE').length;
    await systemClock.sleep(1200);
    expect(caller.responses.filter((text) => text === '200 INVITE').length).toBe(before);
  });

  it('a caller who cancels during admission gets 487 at once, and the worker is notified', async () => {
    const asked = Promise.withResolvers<AdmissionAnswer>();
    admit = () => asked.promise;
    caller.request({ branch: 'z9hG4bK-early', body: sdp });
    await caller.response(100);
    caller.request({ method: 'CANCEL', branch: 'z9hG4bK-early', contact: null });
    const terminated = await caller.response(487);
    expect(caller.responses).toContain('200 CANCEL');
    // RFC 3261 §9.2
    expect(header(await caller.response(200), 'to')).toBe(header(terminated, 'to'));
    asked.resolve(route);
    await expect.poll(() => invites.length, { interval: 5 }).toBe(1);
    await new Promise<void>((resolve) => invites[0]!.onCancel(resolve));
  });

  it('an INVITE retransmitted during admission is admitted once', async () => {
    let asked = 0;
    const answer = Promise.withResolvers<AdmissionAnswer>();
    admit = () => {
      asked += 1;
      return answer.promise;
    };
    const text = caller.request({ body: sdp });
    await caller.response(100);
    caller.send(text);
    await expect.poll(() => caller.responses.filter((status) => status === '100 INVITE').length).toBe(2);
    answer.resolve(route);
    await expect.poll(() => invites.length, { interval: 5 }).toBe(1);
    expect(asked).toBe(1);
  });

  it('the worker detects the loss of signalling', async () => {
    expect(worker.isConnected).toBe(true);
    await server.close();
    await expect.poll(() => worker.isConnected).toBe(false);
  });
});
