import { afterEach, beforeEach, expect, it } from 'vitest';
import { header, parameter } from '#telephony/embedded/message.ts';
import type { IncomingInvite, Signalling, SipDialog } from '#telephony/signalling.ts';
import { openRawCaller, type RawCaller } from '../embedded/raw-caller.ts';
import { connectWorker, describeServers, type SuiteServer } from './servers.ts';

const PATIENCE = { timeout: 30_000, interval: 5 };
const sdp =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n';

/**
 * Checks the first interval of each timer in real time; embedded/lost-packets.test.ts covers the others on a
 * simulated clock.
 */
describeServers([], 'lost packets (RFC 3261 §17, §13.3.1.4)', (start) => {
  let server: SuiteServer;
  let worker: Signalling;
  let caller: RawCaller;
  let admitted: number;
  let invites: IncomingInvite[];
  let ended: number;

  beforeEach(async () => {
    [admitted, invites, ended] = [0, [], 0];
    server = await start(async () => {
      admitted += 1;
      return { action: 'route', data: { tag: 'worker-1' } };
    });
    worker = await connectWorker(server);
    worker.onInvite((invite) => invites.push(invite));
    caller = await openRawCaller(server.sipPort);
  });
  afterEach(async () => {
    caller.close();
    worker.close();
    await server.close();
  });

  const count = (response: string) => caller.responses.filter((text) => text === response).length;
  const expectCount = (response: string, expected: number) =>
    expect.poll(() => count(response), PATIENCE).toBe(expected);
  const expectMore = (response: string, than: number) =>
    expect.poll(() => count(response), PATIENCE).toBeGreaterThan(than);

  async function answered(): Promise<{ dialog: SipDialog; text: string; toTag: string }> {
    const text = caller.request({ body: sdp, branch: 'z9hG4bK-first' });
    await expect.poll(() => invites.length, PATIENCE).toBe(1);
    const dialog = await invites[0]!.answer(sdp);
    dialog.listen({
      onEnded: () => (ended += 1),
      onOffer: () => null,
      makeOffer: () => sdp,
      onAnswer: () => undefined,
      onInfo: () => undefined,
    });
    const ok = await caller.response(200, PATIENCE.timeout);
    return { dialog, text, toTag: parameter(header(ok, 'to') ?? '', 'tag') ?? '' };
  }

  it('a lost 200 is retransmitted until the ACK', async () => {
    const { toTag } = await answered();
    await expectMore('200 INVITE', 1);
    caller.request({ method: 'ACK', toTag });
    // The response to a later request proves that the earlier ACK was processed.
    caller.request({ method: 'INFO', toTag, cseq: 2 });
    await expectCount('200 INFO', 1);
    const before = count('200 INVITE');
    caller.request({ method: 'BYE', toTag, cseq: 3 });
    await expectCount('200 BYE', 1);
    expect(count('200 INVITE')).toBe(before);
    await expect.poll(() => ended, PATIENCE).toBe(1);
  });

  it('a retransmitted INVITE causes no second admission or call', async () => {
    const { text, toTag } = await answered();
    caller.send(text);
    await expectMore('200 INVITE', 1);
    caller.request({ method: 'ACK', toTag });
    caller.request({ method: 'BYE', toTag, cseq: 2 });
    await expectCount('200 BYE', 1);
    expect([admitted, invites.length]).toEqual([1, 1]);
  });

  it('a retransmitted BYE gets its lost response again', async () => {
    const { toTag } = await answered();
    caller.request({ method: 'ACK', toTag });
    const bye = caller.request({ method: 'BYE', toTag, cseq: 2 });
    await expectCount('200 BYE', 1);
    caller.send(bye);
    await expectCount('200 BYE', 2);
    expect(ended).toBe(1);
  });

  it('our lost BYE is retransmitted', async () => {
    const { dialog, toTag } = await answered();
    caller.request({ method: 'ACK', toTag });
    void dialog.hangUp();
    await expect
      .poll(() => caller.requests.filter((method) => method === 'BYE').length, PATIENCE)
      .toBeGreaterThan(1);
    caller.answer(await caller.incoming('BYE'), 200);
  });

  it('a refusal is retransmitted until its ACK arrives', async () => {
    caller.request({ branch: 'z9hG4bK-refused', body: sdp });
    await expect.poll(() => invites.length, PATIENCE).toBe(1);
    invites[0]!.refuse(486);
    await expectMore('486 INVITE', 1);
    const { headers } = await caller.response(486);
    caller.request({
      method: 'ACK',
      branch: 'z9hG4bK-refused',
      toTag: parameter(header({ headers }, 'to') ?? '', 'tag'),
    });
  });

  it('an ended or unknown call is answered 481', async () => {
    caller.request({ method: 'BYE', toTag: 'unknown', cseq: 2, callId: 'never' });
    await expectCount('481 BYE', 1);
    caller.request({ method: 'CANCEL', branch: 'z9hG4bK-never', callId: 'never-either' });
    await expectCount('481 CANCEL', 1);
    const { toTag } = await answered();
    caller.request({ method: 'ACK', toTag });
    caller.request({ method: 'BYE', toTag, cseq: 2 });
    await expectCount('200 BYE', 1);
    caller.request({ method: 'BYE', toTag, cseq: 3 });
    await expectCount('481 BYE', 2);
  });
});
