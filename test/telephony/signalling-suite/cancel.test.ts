import { afterEach, beforeEach, expect, it } from 'vitest';
import type { AdmissionAnswer } from '#protocol/sip-admission.ts';
import { header, parameter } from '#telephony/embedded/message.ts';
import type { IncomingInvite, Signalling } from '#telephony/signalling.ts';
import { openRawCaller, type RawCaller } from '../embedded/raw-caller.ts';
import { connectWorker, describeServers, type SuiteServer } from './servers.ts';

const PATIENCE = { timeout: 30_000, interval: 5 };
const sdp =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n';
const branch = 'z9hG4bK-cancelled';
const route: AdmissionAnswer = { action: 'route', data: { tag: 'worker-1' } };

describeServers([], 'a caller who gives up (RFC 3261 §9.2)', (start) => {
  let server: SuiteServer;
  let worker: Signalling;
  let caller: RawCaller;
  let admit: () => Promise<AdmissionAnswer>;
  let invites: IncomingInvite[];

  beforeEach(async () => {
    invites = [];
    admit = async () => route;
    server = await start(() => admit());
    worker = await connectWorker(server);
    worker.onInvite((invite) => invites.push(invite));
    caller = await openRawCaller(server.sipPort);
  });
  afterEach(async () => {
    caller.close();
    worker.close();
    await server.close();
  });

  const cancelled = (invite: IncomingInvite | undefined) =>
    new Promise<void>((resolve) => invite?.onCancel(resolve));
  const cancel = () => caller.request({ method: 'CANCEL', branch, contact: null });

  async function expectTerminated(): Promise<void> {
    await expect.poll(() => caller.responses, PATIENCE).toContain('200 CANCEL');
    await expect.poll(() => caller.responses, PATIENCE).toContain('487 INVITE');
    const { headers } = await caller.response(487);
    caller.request({ method: 'ACK', branch, toTag: parameter(header({ headers }, 'to') ?? '', 'tag') });
  }

  it('gets 487 while the phone rings, and the worker is notified', async () => {
    caller.request({ branch, body: sdp });
    await expect.poll(() => invites.length, PATIENCE).toBe(1);
    invites[0]!.ring();
    await caller.response(180, PATIENCE.timeout);
    cancel();
    await expectTerminated();
    await cancelled(invites[0]);
    await expect(invites[0]!.answer(sdp)).rejects.toThrow();
  });

  it('gets 487 before the phone rings as well', async () => {
    caller.request({ branch, body: sdp });
    await expect.poll(() => invites.length, PATIENCE).toBe(1);
    cancel();
    await expectTerminated();
    await cancelled(invites[0]);
  });

  it('is never answered during admission', async () => {
    const asked = Promise.withResolvers<AdmissionAnswer>();
    admit = () => asked.promise;
    caller.request({ branch, body: sdp });
    await caller.response(100, PATIENCE.timeout);
    cancel();
    await expectTerminated();
    asked.resolve(route);
    // The worker still receives the call, and learns of its end with its first response.
    await expect.poll(() => invites.length, PATIENCE).toBe(1);
    invites[0]!.ring();
    await cancelled(invites[0]);
    expect(caller.responses).not.toContain('200 INVITE');
  });

  it('leaves no open call at the moment of the answer', async () => {
    caller.request({ branch, body: sdp });
    await expect.poll(() => invites.length, PATIENCE).toBe(1);
    const dialog = await invites[0]!.answer(sdp);
    let ended = 0;
    dialog.listen({
      onEnded: () => (ended += 1),
      onOffer: () => null,
      makeOffer: () => sdp,
      onAnswer: () => undefined,
      onInfo: () => undefined,
    });
    const { headers } = await caller.response(200, PATIENCE.timeout);
    const toTag = parameter(header({ headers }, 'to') ?? '', 'tag');
    cancel();
    await expect
      .poll(() => caller.responses.some((response) => /^(200|481) CANCEL$/.test(response)), PATIENCE)
      .toBe(true);
    caller.request({ method: 'ACK', toTag });
    // One of the two hangs up; the other has nothing left to end.
    caller.request({ method: 'BYE', toTag, cseq: 2 });
    await expect
      .poll(() => caller.responses.some((response) => /^(200|481) BYE$/.test(response)), PATIENCE)
      .toBe(true);
    await expect.poll(() => ended, PATIENCE).toBe(1);
  });
});
