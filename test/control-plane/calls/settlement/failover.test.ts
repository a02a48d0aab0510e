import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { fault } from '#config/errors.ts';
import { loadSession } from '#control-plane/calls/sessions/session-store.ts';
import type { ReportedDialog } from '#protocol/worker-link.ts';
import { SILENT_MEDIA_QUALITY } from '#test/fakes/silent-media-quality.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
let next = 1_000;
beforeAll(async () => {
  api = await openTestCalls({ SIP_TRUNK_URI: 'trunk.example.com:5080' });
});
afterAll(() => api.close());
beforeEach(async () => {
  await api.context.models.sessions.deleteMany({});
  api.dispatch.reset();
});

const UNHEARD = { expected_address: '192.0.2.7', refused_addresses: ['127.0.0.1'] };

/** An outbound call that rings, and the account that placed it. */
async function dialledCall(): Promise<{ readonly id: string; readonly key: string }> {
  const user = await api.createUser();
  const body = { provider: 'managed', phone_number: `+1555014${next++}` };
  const number = await api.request('POST', '/v1/agent/phone-numbers', { key: user.key, body });
  const { phone_number_id } = number.body;
  const agent_id = await api.publishAgent(user);
  const placed = await api.request('POST', '/v1/agent/phone-calls', {
    key: user.key,
    body: { agent_id, phone_number_id, to_number: '+14155550123' },
  });
  return { id: placed.body.session_id, key: user.key };
}

/** An outbound call that was answered. */
async function answeredCall(): Promise<string> {
  const { id } = await dialledCall();
  await api.report(id, { type: 'dial', dial_status: 'answered', at: api.at(), sip_call_id: 'caller' });
  return id;
}

function dialogOf(sip_call_id: string): ReportedDialog {
  const [local_party, remote_party] = [
    '<sip:agent@example.com>;tag=l',
    `<sip:${sip_call_id}@example.com>;tag=r`,
  ];
  return {
    ...{ sip_call_id, local_tag: 'l', remote_tag: 'r', local_party, remote_party },
    ...{ local_sdp: 'v=0', remote_sdp: 'v=0', local_contact: 'sip:agent@192.0.2.1' },
    ...{ route_set: [], local_cseq: 1, remote_target: `sip:${sip_call_id}@192.0.2.2` },
  };
}

const workerDies = (instanceId = 'worker-1', hungIn: string | null = null) =>
  api.sink.workerDead(instanceId, new Date(api.clock.wallTime()), hungIn);

/** The failover state the successor gets when the call's worker dies. */
async function handedOver(): Promise<{ readonly caller: string | undefined; readonly person: unknown }> {
  await workerDies();
  const { dialog, person } = api.dispatch.plans.at(-1)?.failoverState ?? {};
  return { caller: dialog?.sip_call_id, person: person && [person.dialog.sip_call_id, person.is_joined] };
}

it.each([
  ['with its dialog', null],
  ['with that of the person its caller is being transferred to', false],
  ['with that of the person its caller talks to', true],
])('a phone call is moved to another worker %s', async (_with, is_joined) => {
  const id = await answeredCall();
  await api.report(id, { type: 'dialog', ...dialogOf('caller') });
  if (is_joined !== null)
    await api.report(id, { type: 'person', person: { dialog: dialogOf('person'), is_joined } });
  expect(await handedOver()).toEqual({
    caller: 'caller',
    person: is_joined === null ? null : ['person', is_joined],
  });
  expect(JSON.stringify(await loadSession(api.context, id))).not.toContain('sip:person@192.0.2.2');
  expect((await loadSession(api.context, id))?.epoch).toBe(2);
});

it.each([
  ['tells the next worker that nothing was heard from the caller', { unheard: UNHEARD }, true],
  ['does not, once the caller was heard', {}, undefined],
])('a phone call that moves %s', async (_what, heard, expected) => {
  const id = await answeredCall();
  await api.report(id, { type: 'dialog', ...dialogOf('caller') });
  await api.report(id, { type: 'media', quality: { ...SILENT_MEDIA_QUALITY, unheard: UNHEARD } });
  await api.report(id, { type: 'media', quality: { ...SILENT_MEDIA_QUALITY, ...heard } });
  await workerDies();
  expect(api.dispatch.plans.at(-1)?.failoverState?.is_unheard).toBe(expected);
});

/** The move of a call to this epoch is stored, but the answer of the database is lost. */
function loseAnswerTo(epoch: number): void {
  const { collection } = api.context.models.sessions;
  const { findOneAndUpdate } = collection;
  const update = vi.spyOn(collection, 'findOneAndUpdate').mockImplementation(async (...given: unknown[]) => {
    const stored = await Reflect.apply(findOneAndUpdate, collection, given);
    if (JSON.stringify(given[1]).includes(`"epoch":${epoch}`)) throw new Error('connection closed');
    return stored;
  });
  onTestFinished(() => update.mockRestore());
}

it('a call whose move is stored but not confirmed by the database is moved again, in doubt since the same time', async () => {
  const id = await answeredCall();
  await api.report(id, { type: 'dialog', ...dialogOf('caller') });
  await api.sink.workerLost('worker-1');
  const lost_at = api.at();
  await api.clock.advance(10_000);
  loseAnswerTo(2);
  const pause = vi.spyOn(api.clock, 'sleep').mockResolvedValue(undefined);
  await workerDies();
  pause.mockRestore();
  expect(await loadSession(api.context, id)).toMatchObject({ epoch: 3, status: 'active' });
  const moved = { key: { sessionId: id, epoch: 3 }, failoverState: { lost_at } };
  expect(api.dispatch.plans.at(-1)).toMatchObject(moved);
});

it.each([
  ['the first one waits for a worker', 'sleep'],
  ['a worker considers the offer of the first one', 'place'],
] as const)('a call that a second control plane moves while %s is not moved again', async (_while, waits) => {
  const id = await answeredCall();
  await api.report(id, { type: 'dialog', ...dialogOf('caller') });
  const secondMoves = async () => {
    wait.mockRestore();
    api.dispatch.room = 2;
    await workerDies();
  };
  if (waits === 'sleep') api.dispatch.room = 0;
  const wait =
    waits === 'sleep'
      ? vi.spyOn(api.clock, 'sleep').mockImplementationOnce(secondMoves)
      : vi.spyOn(api.dispatch, 'place').mockImplementationOnce(async () => {
          await secondMoves();
          return api.dispatch.placement;
        });
  await workerDies();
  expect(await loadSession(api.context, id)).toMatchObject({ epoch: 2, status: 'active' });
  const moves = api.dispatch.plans.filter(({ failoverState }) => failoverState);
  expect(moves.map(({ key }) => key)).toEqual([{ sessionId: id, epoch: 2 }]);
});

describe('a draining worker', () => {
  const variables = { guest: 'Ann' };
  const OFFERED = {
    ...{ epoch: 1, from: 'worker-1' },
    ...{ isBetweenTurns: true, confirmsLeaving: false, givesStream: false, canWait: false },
  };
  const offer = (id: string, how: Partial<typeof OFFERED> = {}) => {
    const { from, ...call } = { ...OFFERED, ...how };
    return api.sink.handOver(from, { ...call, sessionId: id, variables });
  };

  const phoneCall = async () => {
    const id = await answeredCall();
    await api.report(id, { type: 'dialog', ...dialogOf('caller') });
    return id;
  };

  it('hands a call over: the next one continues it silently, with its variables', async () => {
    const id = await phoneCall();
    expect(await offer(id)).toBe(true);
    const given = api.dispatch.plans.at(-1);
    expect(given?.key).toEqual({ sessionId: id, epoch: 2 });
    expect(given?.plan.variables).toEqual({ guest: 'Ann' });
    expect(given?.failoverState).toMatchObject({ is_handed_over: true, was_cut_off: false });
    const key = { sessionId: id, epoch: 1 };
    expect(api.dispatch.abandoned).toEqual([{ instanceId: 'worker-1', key }]);
    expect(await loadSession(api.context, id)).toMatchObject({ epoch: 2, status: 'active' });
    expect((await loadSession(api.context, id))?.died_epochs ?? []).toEqual([]);
  });

  const webCall = async () => {
    const user = await api.createUser();
    const agent_id = await api.publishAgent(user);
    const { body } = await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } });
    await api.report(body.session_id, { type: 'joined', at: api.at() });
    return body.session_id as string;
  };

  it.each([
    ['only to a worker that is ready for it, until its drain ends', true],
    ['to any worker when its drain ends', false],
  ])('hands a web call over %s', async (_, canWait) => {
    const id = await webCall();
    expect(await offer(id, { canWait })).toBe(true);
    expect(api.dispatch.offers.at(-1)).toMatchObject({ kind: 'web', needsReady: canWait });
  });

  it('hands a phone call over to any worker', async () => {
    await offer(await phoneCall());
    expect(api.dispatch.offers.at(-1)).not.toHaveProperty('needsReady');
  });

  it('has left the call before the next one gets it, if it says when that is', async () => {
    const id = await phoneCall();
    const left = Promise.withResolvers<void>();
    api.dispatch.hasLeft = left.promise;
    const offered = offer(id, { confirmsLeaving: true });
    await vi.waitFor(() => expect(api.dispatch.abandoned).toHaveLength(1));
    await new Promise((resolve) => setImmediate(resolve));
    const given = () => api.dispatch.plans.filter(({ key }) => key.sessionId === id && key.epoch === 2);
    expect(given()).toHaveLength(0);
    left.resolve();
    expect(await offered).toBe(true);
    expect(given()).toHaveLength(1);
  });

  it.each([
    ['as one stream, which the next one takes from it', true, true, true],
    ['as two streams if it is of a release that cannot give its own up', false, true, false],
    ['as two streams if the next one is of a release that asks for none', true, false, false],
  ])('hands a phone call over %s', async (_, givesStream, takesStream, isOne) => {
    const id = await phoneCall();
    const { placement } = api.dispatch;
    api.dispatch.placement = { ...placement, ...(takesStream && { takesStream }) };
    const leave = vi.spyOn(api.dispatch, 'leave');
    onTestFinished(() => {
      api.dispatch.placement = placement;
      leave.mockRestore();
    });
    expect(await offer(id, { confirmsLeaving: true, givesStream })).toBe(true);
    expect(leave.mock.calls).toEqual([['worker-1', { sessionId: id, epoch: 1 }, isOne]]);
    const former = isOne ? { instance_id: 'worker-1', epoch: 1 } : undefined;
    expect(api.dispatch.plans.at(-1)?.failoverState?.former).toEqual(former);
  });

  it('hands over a call without a pause like one whose worker died', async () => {
    const id = await phoneCall();
    expect(await offer(id, { isBetweenTurns: false })).toBe(true);
    expect(api.dispatch.plans.at(-1)?.failoverState).not.toHaveProperty('is_handed_over');
  });

  it('has the call until it hands it over, though a replica had doubted that', async () => {
    const id = await answeredCall();
    await api.report(id, { type: 'dialog', ...dialogOf('caller') });
    await api.sink.workerLost('worker-1');
    await api.clock.advance(10_000);
    expect(await offer(id)).toBe(true);
    expect(api.dispatch.plans.at(-1)?.failoverState?.lost_at).toBe(api.at());
  });

  it('leaves the call to the one worker that took it at two offers at once', async () => {
    const id = await phoneCall();
    expect((await Promise.all([offer(id), offer(id)])).sort()).toEqual([false, true]);
    expect(api.dispatch.plans.filter(({ failoverState }) => failoverState)).toHaveLength(1);
    expect(api.dispatch.withdrawn).toEqual([]);
  });

  it('has its call given to a third worker if the second one goes out of reach', async () => {
    const id = await phoneCall();
    const assign = vi.spyOn(api.dispatch, 'assign').mockImplementationOnce(() => {
      throw fault('gateway_unreachable');
    });
    expect(await offer(id)).toBe(true);
    assign.mockRestore();
    expect(api.dispatch.plans.at(-1)?.key).toEqual({ sessionId: id, epoch: 3 });
    expect(await loadSession(api.context, id)).toMatchObject({ epoch: 3, status: 'active' });
  });

  it('has its call given to a third worker if the database does not confirm that the second one has it', async () => {
    const id = await phoneCall();
    loseAnswerTo(2);
    expect(await offer(id)).toBe(true);
    const told = api.dispatch.abandoned.map(({ key }) => key);
    expect(told).toEqual([1, 2].map((epoch) => ({ sessionId: id, epoch })));
    expect(api.dispatch.plans.at(-1)?.key).toEqual({ sessionId: id, epoch: 3 });
    expect(await loadSession(api.context, id)).toMatchObject({ epoch: 3, status: 'active' });
  });

  it('keeps a call that no other worker takes', async () => {
    const id = await phoneCall();
    api.dispatch.room = 0;
    expect(await offer(id)).toBe(false);
    expect(api.dispatch.abandoned).toEqual([]);
    expect((await loadSession(api.context, id))?.epoch).toBe(1);
  });

  it.each([
    ['another worker has', 1, 'worker-3'],
    ['it had under an earlier epoch', 0, 'worker-1'],
  ])('cannot hand over a call that %s', async (_, epoch, from) => {
    const id = await phoneCall();
    expect(await offer(id, { epoch, from })).toBe(false);
    expect(api.dispatch.plans).toHaveLength(1);
  });
});

it('an outbound call that was cancelled keeps no reason of the dial that failed afterwards', async () => {
  const { id, key } = await dialledCall();
  await api.request('POST', `/v1/agent/sessions/${id}/end`, { key });
  const failed = {
    dial_status: 'failed',
    at: api.at(),
    sip_call_id: null,
    error: 'refused with 500',
  } as const;
  await api.report(id, { type: 'dial', ...failed });
  const session = await loadSession(api.context, id);
  expect(session).toMatchObject({ status: 'failed', end_reason: 'cancelled' });
  expect(session?.dial_error).toBeUndefined();
});

it('a participant who has left is not moved', async () => {
  const id = await answeredCall();
  await api.report(id, { type: 'dialog', ...dialogOf('caller') });
  await api.report(id, { type: 'person', person: { dialog: dialogOf('person'), is_joined: true } });
  await api.report(id, { type: 'person', person: null });
  expect(await handedOver()).toEqual({ caller: 'caller', person: null });
});
