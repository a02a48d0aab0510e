import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { answerTo, openTwoServers, PATIENCE, statusOf, THEIR_SDP, type TwoServers } from './two-servers.ts';

describe('a worker whose calls another one may have taken', () => {
  let two: TwoServers;
  /** A control plane has said which calls are still this worker's. */
  let certain: PromiseWithResolvers<void>;

  beforeEach(async () => {
    certain = Promise.withResolvers();
    certain.resolve();
    two = await openTwoServers({
      now: () => 0,
      asked: () => false,
      gone: () => undefined,
      hasItsCalls: () => certain.promise,
    });
  });
  afterEach(() => two.close());

  /** The peer asks for a change through the server that does not have the call. */
  const changeElsewhere = async (dialog: Awaited<ReturnType<TwoServers['call']>>) => {
    const [, elsewhere] = two.parts.phones;
    two.within(dialog, elsewhere, '2 INVITE', THEIR_SDP);
    expect(statusOf(await answerTo(elsewhere, '2 INVITE'))).toBe(500);
    two.within(dialog, elsewhere, '2 ACK');
  };
  /** What the worker sends before it answers the last of these has been heard by then. */
  const letPass = async (dialog: Awaited<ReturnType<TwoServers['call']>>, from = 3) => {
    const [, elsewhere] = two.parts.phones;
    for (const cseq of [0, 1, 2, 3, 4].map((nth) => from + nth)) {
      two.within(dialog, elsewhere, `${cseq} OPTIONS`);
      await answerTo(elsewhere, `${cseq} OPTIONS`);
    }
  };

  it('moves a call that is changed through another server once it certainly has the call', async () => {
    const dialog = await two.call();
    certain = Promise.withResolvers();
    await changeElsewhere(dialog);
    await letPass(dialog);
    expect(two.reinvites()).toEqual([]);
    certain.resolve();
    await two.acceptReinvite();
    await expect.poll(two.dialogs, PATIENCE).toEqual([0, 1]);
    void dialog.hangUp();
  });

  it('does not move a call that another worker turns out to have', async () => {
    const dialog = await two.call();
    certain = Promise.withResolvers();
    await changeElsewhere(dialog);
    dialog.leave(Promise.resolve());
    certain.resolve();
    await letPass(dialog);
    expect([two.reinvites(), two.dialogs()]).toEqual([[], [1, 0]]);
  });

  it('does not hang up on a peer that has hung up meanwhile', async () => {
    const [phone, elsewhere] = two.parts.phones;
    const dialog = await two.call();
    certain = Promise.withResolvers();
    await changeElsewhere(dialog);
    two.within(dialog, elsewhere, '3 BYE');
    expect(statusOf(await answerTo(elsewhere, '3 BYE'))).toBe(200);
    expect(two.ended).toBe(1);
    certain.resolve();
    await letPass(dialog, 4);
    expect([phone.requests, elsewhere.requests].flat()).not.toContain('BYE');
  });

  it('hangs up once it certainly has the call, if its server was lost meanwhile', async () => {
    const dialog = await two.call();
    certain = Promise.withResolvers();
    await two.loseFirst();
    void dialog.hangUp();
    await letPass(dialog);
    expect(two.parts.phones[0].requests).not.toContain('BYE');
    certain.resolve();
    two.parts.phones[0].answer(await two.byeThrough(1), 200);
  });
});
