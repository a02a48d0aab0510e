import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { header } from '#telephony/embedded/message.ts';
import { InviteCancelled } from '#telephony/signalling.ts';
import { connectTestWorker } from '#test/fakes/signalling.ts';
import { openRawCaller } from './embedded/raw-caller.ts';
import {
  answerTo,
  cseqOf,
  GRACE_MS,
  OUR_SDP,
  openTwoServers,
  PATIENCE,
  statusOf,
  THEIR_SDP,
  type TwoServers,
  viaPort,
} from './two-servers.ts';

describe('a call whose SIP server is lost', () => {
  let two: TwoServers;
  let { servers, links, worker }: TwoServers['parts'] = {} as never;
  let [phone, elsewhere]: TwoServers['parts']['phones'] = [] as never;

  beforeEach(async () => {
    two = await openTwoServers();
    ({
      servers,
      links,
      worker,
      phones: [phone, elsewhere],
    } = two.parts);
  });
  afterEach(() => two.close());

  const nameOf = (which: 0 | 1) => `127.0.0.1:${links[which].port}`;
  const refuseReinvite = async (nth: number, status: number) => {
    await expect.poll(() => two.reinvites().length, PATIENCE).toBeGreaterThan(nth);
    phone.answer(two.reinvites()[nth]!, status);
  };
  const isBack = () => expect.poll(() => worker.servers.length, PATIENCE).toBe(2);

  it('is hung up through the other server if the first one said nothing to that', async () => {
    const dialog = await two.call();
    links[0].hold();
    void dialog.hangUp();
    await two.untilConnectedTo([1]);
    phone.answer(await two.byeThrough(1), 200);
  });

  it('is hung up along its route, even if its peer refuses to be moved', async () => {
    const proxy = await openRawCaller(servers[0].sipPort);
    const dialog = await two.call([`Record-Route: <sip:127.0.0.1:${proxy.port};lr>`]);
    await two.loseFirst();
    proxy.answer(await proxy.incoming('INVITE', PATIENCE.timeout), 500);
    await proxy.incoming('ACK', PATIENCE.timeout);
    void dialog.hangUp();
    const bye = await two.byeThrough(1, proxy);
    expect(header(bye, 'route')).toContain(`127.0.0.1:${proxy.port}`);
    expect(phone.requests).toEqual([]);
    proxy.answer(bye, 200);
    proxy.close();
  });

  it('stays known to the first server until it is known to the other', async () => {
    const dialog = await two.call();
    await two.loseFirst();
    await expect.poll(() => two.reinvites().length, PATIENCE).toBe(1);
    links[0].mend();
    await isBack();
    expect(two.dialogs()).toEqual([1, 1]);
    await two.acceptReinvite();
    await expect.poll(two.dialogs, PATIENCE).toEqual([0, 1]);
    void dialog.hangUp();
  });

  it('goes back to the first server if the other cannot reach the peer', async () => {
    const dialog = await two.call();
    await two.loseFirst();
    await expect.poll(() => two.reinvites().length, PATIENCE).toBe(1);
    links[0].mend();
    await isBack();
    await refuseReinvite(0, 408);
    expect(viaPort(await two.acceptReinvite(1))).toBe(servers[0].sipPort);
    await expect.poll(() => dialog.facts.localCseq, PATIENCE).toBeGreaterThan(0);
    expect([dialog.facts.server, two.ended]).toEqual([nameOf(0), 0]);
    void dialog.hangUp();
  });

  it('goes back to the first server once that is there again', async () => {
    const dialog = await two.call();
    await two.loseFirst();
    await refuseReinvite(0, 408);
    await phone.incoming('ACK', PATIENCE.timeout);
    links[0].mend();
    expect(viaPort(await two.acceptReinvite(1))).toBe(servers[0].sipPort);
    expect(two.ended).toBe(0);
    void dialog.hangUp();
  });

  it('ends if its peer hung up at the first server while nobody was connected there', async () => {
    const dialog = await two.call();
    await two.loseFirst();
    await two.acceptReinvite();
    two.within(dialog, phone, '1000 BYE');
    expect(statusOf(await answerTo(phone, '1000 BYE'))).toBe(200);
    expect(two.ended).toBe(0);
    links[0].mend();
    await expect.poll(() => two.ended, PATIENCE).toBe(1);
  });

  it('is moved when its peer asks for a change, although it has refused to be moved before', async () => {
    const dialog = await two.call();
    await two.loseFirst();
    await refuseReinvite(0, 500);
    await phone.incoming('ACK', PATIENCE.timeout);
    let cseq = 1;
    const change = async () => {
      cseq += 1;
      two.within(dialog, elsewhere, `${cseq} INVITE`, THEIR_SDP);
      const status = statusOf(await answerTo(elsewhere, `${cseq} INVITE`));
      two.within(dialog, elsewhere, `${cseq} ACK`);
      return status;
    };
    const [refused] = two.reinvites();
    const next = () => two.reinvites().find((each) => cseqOf(each) > cseqOf(refused!));
    // One that overtakes the refusal does not move the call, and is repeated as any other.
    while (!next()) {
      expect([500, 491]).toContain(await change());
      await systemClock.sleep(100);
    }
    phone.answer(next()!, 200, THEIR_SDP);
    const ack = `${cseqOf(next()!)} ACK`;
    await phone.next((message) => header(message, 'cseq') === ack, PATIENCE.timeout);
    expect(await change()).toBe(200);
    void dialog.hangUp();
  });

  it('is forgotten by a server through which its peer refuses to be moved', async () => {
    const dialog = await two.call();
    await two.loseFirst();
    await refuseReinvite(0, 500);
    await expect.poll(two.dialogs, PATIENCE).toEqual([1, 0]);
    void dialog.hangUp();
  });

  it('is hung up once, if it ended while no server was connected', async () => {
    const dialog = await two.call();
    for (const link of links) link.cut();
    await expect.poll(() => worker.isConnected, PATIENCE).toBe(false);
    void dialog.hangUp();
    links[0].mend();
    phone.answer(await two.byeThrough(0), 200);
    await systemClock.sleep(GRACE_MS + 300);
    expect(new Set(phone.heard.flatMap(byeOf)).size).toBe(1);
  });

  it('is cancelled if that happens while it is answered', async () => {
    phone.request({ body: THEIR_SDP });
    await expect.poll(() => two.invites.length, PATIENCE).toBe(1);
    links[0].hold();
    const answered = two.invites[0]!.answer(OUR_SDP);
    links[0].cut();
    await expect(answered).rejects.toThrow(InviteCancelled);
  });

  it('continues at another worker through the other server, if it is lost during that', async () => {
    const dialog = await two.call();
    const successor = await connectTestWorker(
      links.map(({ port }) => ({ appPort: port })),
      'worker-2',
    );
    await expect.poll(() => successor.servers.length, PATIENCE).toBe(2);
    const facts = dialog.facts;
    worker.close();
    links[0].hold();
    const continued = successor.failOver(facts, OUR_SDP);
    links[0].cut();
    expect(viaPort(await two.acceptReinvite())).toBe(servers[1].sipPort);
    expect((await continued).facts.server).toBe(nameOf(1));
    successor.close();
  });

  it('counts a digit once that a proxy repeats through the other server', async () => {
    const dialog = await two.call();
    two.within(dialog, phone, '2 INFO', 'Signal=5');
    await answerTo(phone, '2 INFO');
    two.within(dialog, elsewhere, '2 INFO', 'Signal=5');
    expect(statusOf(await answerTo(elsewhere, '2 INFO'))).toBe(200);
    expect(two.digits).toEqual(['Signal=5']);
    void dialog.hangUp();
  });

  it('is not refused as unknown by a server without workers', async () => {
    const dialog = await two.call();
    links[1].cut();
    await expect.poll(() => worker.servers.length, PATIENCE).toBe(1);
    two.within(dialog, elsewhere, '2 BYE');
    const refusal = await answerTo(elsewhere, '2 BYE');
    expect([statusOf(refusal), header(refusal, 'retry-after')]).toEqual([503, '2']);
    void dialog.hangUp();
  });

  it('is not refused as unknown if the worker is lost that may have it', async () => {
    const other = await connectTestWorker(servers[1], 'worker-2');
    const dialog = await two.call();
    links[1].hold();
    two.within(dialog, elsewhere, '2 BYE');
    links[1].cut();
    expect(statusOf(await answerTo(elsewhere, '2 BYE'))).toBe(503);
    other.close();
    void dialog.hangUp();
  });

  it('is found although another worker answers nothing', async () => {
    const dialog = await two.call();
    const stalled = await connectTestWorker({ appPort: links[0].port }, 'worker-2');
    links[0].hold();
    two.within(dialog, elsewhere, '2 BYE');
    expect(statusOf(await answerTo(elsewhere, '2 BYE'))).toBe(200);
    stalled.close();
  });
});

/** The CSeq of a BYE. */
function byeOf(message: Parameters<typeof viaPort>[0]): string[] {
  const isBye = message.start.kind === 'request' && message.start.method === 'BYE';
  return isBye ? [header(message, 'cseq') ?? ''] : [];
}
