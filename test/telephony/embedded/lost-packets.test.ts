import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { header, parameter } from '#telephony/embedded/message.ts';
import type { EmbeddedSignalling } from '#telephony/embedded/server.ts';
import type { IncomingInvite, Signalling, SipDialog } from '#telephony/signalling.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { connectTestWorker, startTestSignalling } from '#test/fakes/signalling.ts';
import { openRawCaller, type RawCaller } from './raw-caller.ts';

const sdp =
  'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n';

describe('lost packets, on a simulated server clock', () => {
  let clock: ManualClock;
  let server: EmbeddedSignalling;
  let worker: Signalling;
  let caller: RawCaller;
  let admitted: number;
  let invites: IncomingInvite[];

  beforeEach(async () => {
    clock = new ManualClock();
    admitted = 0;
    invites = [];
    server = await startTestSignalling({
      clock,
      admit: async () => {
        admitted += 1;
        return { action: 'route', data: { tag: 'worker-1' } };
      },
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

  const count = (response: string) => caller.responses.filter((text) => text === response).length;
  const expectCount = (response: string, expected: number) =>
    expect.poll(() => count(response), { interval: 5 }).toBe(expected);

  async function answered(): Promise<{ dialog: SipDialog; text: string; toTag: string }> {
    const text = caller.request({ body: sdp });
    await expect.poll(() => invites.length, { interval: 5 }).toBe(1);
    const dialog = await (invites[0] as IncomingInvite).answer(sdp);
    const ok = await caller.response(200);
    return { dialog, text, toTag: parameter(header(ok, 'to') ?? '', 'tag') ?? '' };
  }

  it('a lost 200 is retransmitted after half a second, until the ACK', async () => {
    const { toTag } = await answered();
    await clock.advance(500);
    await expectCount('200 INVITE', 2);
    caller.request({ method: 'ACK', toTag });
    // The response to a later request proves that the earlier ACK was processed.
    caller.request({ method: 'INFO', toTag, cseq: 2 });
    await expectCount('200 INFO', 1);
    await clock.advance(60_000);
    caller.request({ method: 'OPTIONS' });
    await expectCount('200 OPTIONS', 1);
    expect(count('200 INVITE')).toBe(2);
    expect(server.metrics().dialogs).toBe(1);
  });

  it('a retransmitted INVITE gets the lost 200 again, without another admission or call', async () => {
    const { text } = await answered();
    caller.send(text);
    await expectCount('200 INVITE', 2);
    expect(admitted).toBe(1);
    expect(invites.length).toBe(1);
  });

  it('a retransmitted BYE gets its lost response again', async () => {
    const { toTag } = await answered();
    const bye = caller.request({ method: 'BYE', toTag, cseq: 2 });
    await expectCount('200 BYE', 1);
    caller.send(bye);
    await expectCount('200 BYE', 2);
    expect(server.metrics().dialogs).toBe(0);
  });

  it('security 23: a call without an ACK, as of a forged sender, ends after 32 s for caller and worker', async () => {
    const { dialog } = await answered();
    const ended = new Promise<void>((resolve) =>
      dialog.listen({
        onEnded: resolve,
        onOffer: () => null,
        makeOffer: () => '',
        onAnswer: () => undefined,
        onInfo: () => undefined,
      }),
    );
    await clock.advance(31_900);
    expect(caller.requests).toEqual([]);
    await clock.advance(200);
    await caller.incoming('BYE');
    await ended;
    expect(server.metrics()).toMatchObject({ dialogs: 0, dialogsLost: 1 });
  });

  it('our BYE is retransmitted after a loss', async () => {
    const { dialog, toTag } = await answered();
    caller.request({ method: 'ACK', toTag });
    void dialog.hangUp();
    await caller.incoming('BYE');
    await clock.advance(500);
    await expect.poll(() => caller.requests, { interval: 5 }).toEqual(['BYE', 'BYE']);
  });

  it('a refusal is retransmitted until its ACK arrives', async () => {
    caller.request({ branch: 'z9hG4bK-refused', body: sdp });
    await expect.poll(() => invites.length, { interval: 5 }).toBe(1);
    invites[0]?.refuse(486);
    await expectCount('486 INVITE', 1);
    await clock.advance(500);
    await expectCount('486 INVITE', 2);
    caller.request({ method: 'ACK', branch: 'z9hG4bK-refused', toTag: 'any' });
    caller.request({ method: 'OPTIONS' });
    await expectCount('200 OPTIONS', 1);
    await clock.advance(60_000);
    expect(count('486 INVITE')).toBe(2);
  });

  it('a request for an ended or unknown call is answered 481', async () => {
    caller.request({ method: 'BYE', toTag: 'unknown', cseq: 2 });
    await caller.response(481);
    caller.request({ method: 'CANCEL', branch: 'z9hG4bK-never' });
    await expectCount('481 CANCEL', 1);
  });

  it('ended calls leave no state behind', async () => {
    const { toTag } = await answered();
    caller.request({ method: 'ACK', toTag });
    caller.request({ method: 'BYE', toTag, cseq: 2 });
    await expectCount('200 BYE', 1);
    await clock.advance(40_000);
    expect(server.metrics()).toMatchObject({ dialogs: 0, transactions: 0 });
    expect(clock.pendingTimers).toBe(0);
  });

  it('a flooding source gets nothing beyond its share, and is served again later', async () => {
    for (let n = 0; n < 1_600; n++) {
      caller.request({ method: 'OPTIONS' });
      if (n % 100 === 99) await new Promise((resolve) => setImmediate(resolve));
    }
    await expect.poll(() => server.metrics().flooded, { timeout: 5000 }).toBeGreaterThan(0);
    const before = count('200 OPTIONS');
    expect(before).toBeLessThanOrEqual(1_200);
    await clock.advance(2_000);
    caller.request({ method: 'OPTIONS', callId: 'later' });
    await caller.next((message) => header(message, 'call-id') === 'later');
  });
});
