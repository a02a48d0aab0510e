import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { header, parameter, type SipMessage } from '#telephony/embedded/message.ts';
import type { Signalling } from '#telephony/signalling.ts';
import { connectTestWorker } from '#test/fakes/signalling.ts';
import type { RawCaller } from './embedded/raw-caller.ts';
import {
  answerTo,
  cseqOf,
  GRACE_MS,
  methodOf,
  OUR_SDP,
  openTwoServers,
  PATIENCE,
  statusOf,
  THEIR_SDP,
  type TwoServers,
  viaPort,
} from './two-servers.ts';

describe('a worker at two SIP servers', () => {
  let two: TwoServers;
  let { servers, links, worker, named }: TwoServers['parts'] = {} as never;
  let phone: RawCaller;
  /** The caller's requests as a proxy sends them to the second server. */
  let elsewhere: RawCaller;
  let { invites, digits, dialogs, reinvites, within, loseFirst, acceptReinvite }: TwoServers = {} as never;

  beforeEach(async () => {
    two = await openTwoServers();
    ({
      servers,
      links,
      worker,
      named,
      phones: [phone, elsewhere],
    } = two.parts);
    ({ invites, digits, dialogs, reinvites, within, loseFirst, acceptReinvite } = two);
  });
  afterEach(() => two.close());

  const call = () => two.call();

  it('takes calls that come through either', async () => {
    phone.request({ body: THEIR_SDP });
    elsewhere.request({ body: THEIR_SDP });
    await expect.poll(() => invites.length, PATIENCE).toBe(2);
  });

  it('is named to the control plane by every server that it is connected to', async () => {
    const other = await connectTestWorker(servers[1], 'worker-2');
    await loseFirst();
    phone.request({ body: THEIR_SDP });
    await expect.poll(() => named, PATIENCE).toEqual([[]]);
    elsewhere.request({ body: THEIR_SDP });
    await expect.poll(() => named[1], PATIENCE).toEqual(['worker-1', 'worker-2']);
    other.close();
  });

  it('moves its calls to the other when one is lost, and the hang-up there ends them once', async () => {
    const dialog = await call();
    await loseFirst();
    const request = await acceptReinvite();
    expect(header(request, 'contact')).toContain(`:${servers[1].sipPort}`);
    await expect.poll(() => dialog.facts.server, PATIENCE).toBe(`127.0.0.1:${links[1].port}`);
    within(dialog, elsewhere, '1000 BYE');
    await answerTo(elsewhere, '1000 BYE');
    await expect.poll(() => two.ended, PATIENCE).toBe(1);
    // The first server gives up the call that nobody there has any more.
    await expect.poll(dialogs, PATIENCE).toEqual([0, 0]);
    expect(two.ended).toBe(1);
  });

  it('hangs up through the other when one is lost', async () => {
    const dialog = await call();
    await loseFirst();
    const request = await acceptReinvite();
    await expect.poll(() => dialog.facts.server, PATIENCE).toBe(`127.0.0.1:${links[1].port}`);
    void dialog.hangUp();
    const bye = await phone.next(
      (message) => methodOf(message) === 'BYE' && viaPort(message) === servers[1].sipPort,
      PATIENCE.timeout,
    );
    phone.answer(bye, 200);
    expect(cseqOf(bye)).toBeGreaterThan(cseqOf(request));
  });

  it('hangs up through the other even if the peer refuses to be moved', async () => {
    const dialog = await call();
    await loseFirst();
    await expect.poll(() => reinvites().length, PATIENCE).toBe(1);
    phone.answer(reinvites()[0]!, 500);
    await phone.incoming('ACK', PATIENCE.timeout);
    void dialog.hangUp();
    const bye = await phone.next(
      (message) => methodOf(message) === 'BYE' && viaPort(message) === servers[1].sipPort,
      PATIENCE.timeout,
    );
    expect(parameter(header(bye, 'to') ?? '', 'tag')).toBe('caller');
    expect(cseqOf(bye)).toBeGreaterThan(cseqOf(reinvites()[0]!));
    phone.answer(bye, 200);
  });

  it('sends the BYE of a call that ended while no server was connected, once one is back', async () => {
    const dialog = await call();
    for (const link of links) link.cut();
    await expect.poll(() => worker.isConnected, PATIENCE).toBe(false);
    void dialog.hangUp();
    links[1].mend();
    const bye = await phone.next(
      (message) => methodOf(message) === 'BYE' && viaPort(message) === servers[1].sipPort,
      PATIENCE.timeout,
    );
    expect(header(bye, 'call-id')).toBe(dialog.facts.sipCallId);
    phone.answer(bye, 200);
  });

  it('a server that it comes back to does not hang up on a call that the other has now', async () => {
    const dialog = await call();
    await loseFirst();
    await acceptReinvite();
    links[0].mend();
    await expect.poll(() => worker.servers.length, PATIENCE).toBe(2);
    await expect.poll(dialogs, PATIENCE).toEqual([0, 1]);
    await systemClock.sleep(GRACE_MS + 300);
    expect(phone.requests).not.toContain('BYE');
    void dialog.hangUp();
  });

  it('gets the hang-up that comes through the server that does not have the call', async () => {
    const dialog = await call();
    within(dialog, elsewhere, '2 BYE');
    expect(statusOf(await answerTo(elsewhere, '2 BYE'))).toBe(200);
    await expect.poll(() => two.ended, PATIENCE).toBe(1);
    await expect.poll(dialogs, PATIENCE).toEqual([0, 0]);
    expect(phone.requests).toEqual([]);
  });

  it('gets digits that come through the server that does not have the call', async () => {
    const dialog = await call();
    within(dialog, elsewhere, '2 INFO', 'Signal=5');
    expect(statusOf(await answerTo(elsewhere, '2 INFO'))).toBe(200);
    expect(digits).toEqual(['Signal=5']);
    expect(dialogs()).toEqual([1, 0]);
    void dialog.hangUp();
  });

  it('moves a call that is changed through the other server, which accepts the repeated change', async () => {
    const dialog = await call();
    within(dialog, elsewhere, '2 INVITE', THEIR_SDP);
    const refusal = await answerTo(elsewhere, '2 INVITE');
    expect([statusOf(refusal), header(refusal, 'retry-after')]).toEqual([500, '1']);
    within(dialog, elsewhere, '2 ACK');
    await acceptReinvite();
    await expect.poll(dialogs, PATIENCE).toEqual([0, 1]);
    within(dialog, elsewhere, '3 INVITE', THEIR_SDP);
    expect(statusOf(await answerTo(elsewhere, '3 INVITE'))).toBe(200);
    within(dialog, elsewhere, '3 ACK');
    expect(two.ended).toBe(0);
  });

  it('refuses requests of calls that it does not have', async () => {
    const dialog = await call();
    const { localTag: toTag, sipCallId: callId } = dialog.facts;
    elsewhere.request({ method: 'BYE', cseq: 2, callId, toTag: 'another' });
    elsewhere.request({ method: 'INFO', cseq: 2, callId: 'another', toTag });
    elsewhere.request({ method: 'OPTIONS', cseq: 2, callId, toTag, fromTag: 'another' });
    for (const method of ['BYE', 'INFO', 'OPTIONS'])
      expect(statusOf(await answerTo(elsewhere, `2 ${method}`)), method).toBe(481);
    expect(two.ended).toBe(0);
  });

  it('refuses a request whose sender has no address', async () => {
    const dialog = await call();
    const { localTag: toTag, sipCallId: callId } = dialog.facts;
    for (const [index, from] of ['<>;tag=another', ';tag=another'].entries()) {
      elsewhere.request({ method: 'INFO', cseq: index + 2, callId, toTag, from });
      expect(statusOf(await answerTo(elsewhere, `${index + 2} INFO`)), from).toBe(481);
    }
  });

  it('the server that does not have the call asks all workers', async () => {
    const other = await connectTestWorker(servers[1], 'worker-2');
    const third = await connectTestWorker(servers[1], 'worker-3');
    const dialog = await call();
    links[1].cut();
    await expect.poll(() => worker.servers.length, PATIENCE).toBe(1);
    links[1].mend();
    await expect.poll(() => worker.servers.length, PATIENCE).toBe(2);
    within(dialog, elsewhere, '2 BYE');
    expect(statusOf(await answerTo(elsewhere, '2 BYE'))).toBe(200);
    expect(two.ended).toBe(1);
    other.close();
    third.close();
  });

  it('cancels a call that rings when its server is lost, and gives up one that it dials', async () => {
    phone.request({ body: THEIR_SDP });
    await expect.poll(() => invites.length, PATIENCE).toBe(1);
    let cancelled = 0;
    invites[0]!.onCancel(() => (cancelled += 1));
    links[1].cut();
    await expect.poll(() => worker.servers.length, PATIENCE).toBe(1);
    const dialled = worker.dial(requestTo(phone.port));
    await phone.incoming('INVITE', PATIENCE.timeout);
    links[0].cut();
    await expect(dialled.answered).rejects.toThrow('the connection to signalling was lost');
    expect(cancelled).toBe(1);
  });

  it('dials through a server that is connected', async () => {
    await loseFirst();
    for (const nth of [0, 1, 2]) {
      const dialled = worker.dial(requestTo(phone.port));
      await expect.poll(() => reinvites().length, PATIENCE).toBeGreaterThan(nth);
      expect(viaPort(reinvites()[nth]!)).toBe(servers[1].sipPort);
      phone.answer(tagged(reinvites()[nth]!), 486);
      await expect(dialled.answered).rejects.toThrow('486');
    }
  });

  it.each([0, 1] as const)(
    'continues a dead worker’s call through the server that has it (server %i)',
    async (which) => {
      const dialog = await call();
      const successor = await connectTestWorker(
        links.map(({ port }) => ({ appPort: port })),
        'worker-2',
      );
      await expect.poll(() => successor.servers.length, PATIENCE).toBe(2);
      const facts = { ...dialog.facts, server: `127.0.0.1:${links[which].port}` };
      worker.close();
      void successor.failOver(facts, OUR_SDP);
      expect(viaPort(await acceptReinvite())).toBe(servers[which].sipPort);
      successor.close();
    },
  );

  it('continues a dead worker’s call that had moved since its worker reported it', async () => {
    const dialog = await call();
    const reported = dialog.facts;
    await loseFirst();
    const moved = await acceptReinvite();
    links[0].mend();
    const successor = await connectTestWorker({ appPort: links[0].port }, 'worker-2');
    worker.close();
    void successor.failOver(reported, OUR_SDP);
    expect(cseqOf(await acceptReinvite(1))).toBeGreaterThan(cseqOf(moved));
    successor.close();
  });

  it('is not held up by a server that was never there', async () => {
    const lonely = await connectTestWorker([{ appPort: 1 }, servers[1]], 'worker-1');
    expect(lonely.servers).toEqual([`127.0.0.1:${servers[1].appPort}`]);
    lonely.close();
  });

  it('gives up a server that says nothing any more, although its connection stays open', async () => {
    links[0].hold();
    await two.untilConnectedTo([1]);
  });
});

function requestTo(port: number): Parameters<Signalling['dial']>[0] {
  return {
    toUri: `sip:+15550199@127.0.0.1:${port}`,
    fromNumber: '+15550100',
    sdpOffer: OUR_SDP,
    headers: {},
    credentials: null,
  };
}

/** A request as a phone that answers it sees it. */
function tagged(request: SipMessage): SipMessage {
  return {
    ...request,
    headers: request.headers.map((each) =>
      each.name === 'To' ? { ...each, value: `${each.value};tag=phone` } : each,
    ),
  };
}
