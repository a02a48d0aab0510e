import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTextSessions } from '#control-plane/jobs/text-sessions/text-session-loop.ts';
import { startTurn } from '#control-plane/jobs/text-sessions/text-turn-runner.ts';
import { answer, openTextSessions, type TextSessions } from './open-text-sessions.ts';

let api: TextSessions;
beforeEach(async () => {
  api = await openTextSessions();
});
afterEach(() => api.close());

const only = async () => {
  const turn = await api.context.models.textTurns.findOne({}).lean();
  if (!turn) throw new Error('no turn');
  return turn;
};

describe('a turn whose worker is lost', () => {
  it('runs on another one, and the client that repeats its key gets the answer once', async () => {
    const id = await api.create();
    const sent = api.send(id, 'Book it', 'k');
    await api.placed(1);
    await api.sink.workerDead('worker-1', new Date(api.clock.wallTime()));
    await api.loop.idle();
    await api.placed(2);
    expect(await api.finish(answer('late'), 0)).toBe('stale');
    await api.finish(answer('Booked.'));
    expect((await sent).body.reply).toBe('Booked.');
    expect((await api.send(id, 'Book it', 'k')).body.reply).toBe('Booked.');
    expect(api.dispatch.textTurns).toHaveLength(2);
  });

  it('fails after two unexplained deaths, and its charge is returned', async () => {
    const before = await api.balance(api.user.userId);
    const sent = api.send(await api.create(), 'Kill it');
    for (let death = 1; death <= 2; death++) {
      await api.placed(death);
      await api.sink.workerDead('worker-1', new Date(api.clock.wallTime()));
      await api.loop.idle();
    }
    expect(await sent).toMatchObject({
      status: 502,
      body: { message: expect.stringContaining('too often') },
    });
    expect(await api.balance(api.user.userId)).toBe(before);
  });
});

describe('a message that finds no worker', () => {
  it('waits, and is answered once one is free', async () => {
    api.dispatch.room = 0;
    const sent = api.send(await api.create(), 'Hello?');
    while ((await api.context.models.textTurns.countDocuments({ billing: 'paid' })) === 0)
      await api.loop.idle();
    await api.clock.advance(2_000);
    await api.loop.idle();
    expect(api.dispatch.textTurns).toHaveLength(0);
    api.dispatch.room = 1;
    await api.clock.advance(2_000);
    await api.loop.idle();
    await api.placed(1);
    await api.finish(answer('Here I am'));
    expect((await sent).body.reply).toBe('Here I am');
  });
});

describe('a turn that two replicas start at once', () => {
  it('is left to the one that has placed it by the one that finds no worker', async () => {
    api.dispatch.room = 0;
    const sent = api.send(await api.create(), 'Book it');
    while ((await api.context.models.textTurns.countDocuments({ billing: 'paid' })) === 0)
      await api.loop.idle();
    const { place } = api.dispatch;
    api.dispatch.place = async (offer) => {
      const placed = { status: 'running' as const, epoch: 1, instance_id: 'worker-2' };
      await api.context.models.textTurns.updateMany({}, { $set: placed });
      return place.call(api.dispatch, offer);
    };
    expect(await startTurn(api.context, (await only())._id)).toBe(false);
    const { _id, status, epoch } = await only();
    expect(status).toBe('running');
    const report = { type: 'text_turn' as const, result: answer('Booked.') };
    await api.sink.apply([{ session_id: _id, epoch, seq: 1, report }], 'worker-2');
    expect((await sent).body.reply).toBe('Booked.');
  });
});

describe('a process that is killed', () => {
  /** The contents of the store at that moment. */
  async function leftBehind(state: Record<string, unknown>): Promise<string> {
    const sent = api.send(await api.create(), 'Hello?', 'k');
    await api.placed(1);
    await api.context.models.textTurns.updateMany({}, { $set: state });
    sent.catch(() => undefined);
    return (await only()).session_id;
  }

  async function restarted(): Promise<void> {
    await api.loop.close();
    const loop = startTextSessions(api.context);
    await api.clock.advance(6_000);
    await loop.idle();
    await loop.close();
  }

  it('between storing a message and charging it has it charged once and answered', async () => {
    const before = await api.balance(api.user.userId);
    await leftBehind({ status: 'queued', billing: 'due', epoch: 0, instance_id: null });
    await restarted();
    expect(await only()).toMatchObject({ status: 'running', billing: 'paid' });
    expect(before - (await api.balance(api.user.userId))).toBe(10_000);
    await api.finish(answer('Hi'));
    expect((await only()).status).toBe('answered');
  });

  it('between the end of a turn and its settlement has the charge returned once', async () => {
    const before = await api.balance(api.user.userId);
    await leftBehind({ status: 'failed', error: 'x', is_unsettled: true });
    await restarted();
    await restarted();
    expect(await only()).toMatchObject({ billing: 'returned', is_unsettled: false });
    expect(await api.balance(api.user.userId)).toBe(before);
    expect(await api.context.ledger.verify(api.user.userId)).toBeNull();
  });

  it('before the agent’s goodbye has ended the session has it ended', async () => {
    const id = await leftBehind({ status: 'answered', ends_session: true, is_unsettled: true });
    await restarted();
    expect((await api.get(`/v1/agent/text-sessions/${id}`)).end_reason).toBe('agent');
  });
});
