import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { createLedger } from '#control-plane/accounts/wallet/ledger.ts';
import { openHeartbeatFile } from '#control-plane/calls/sessions/heartbeat-file.ts';
import { sessionDraft } from '#control-plane/calls/sessions/new-session.ts';
import { openUnplacedSession } from '#control-plane/calls/sessions/place-session.ts';
import { loadSession } from '#control-plane/calls/sessions/session-store.ts';
import { startSweeper, sweep } from '#control-plane/calls/settlement/sweep.ts';
import { openRooms } from '#control-plane/platform/open-rooms.ts';
import { measureCommands } from '#control-plane/platform/store/measure-commands.ts';
import type { SessionDocument } from '#control-plane/platform/store/models/session-model.ts';
import { DUE_BITS } from '#control-plane/platform/store/session-due.ts';
import { type LivekitRooms, startLivekitRooms } from '../../../fakes/livekit-rooms.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
let user: TestUser;
let agentId: string;

/** Makes `api` the one under test: without sessions, and with a user and an agent of the test's own. */
async function use(opened: TestCalls): Promise<void> {
  api = opened;
  api.dispatch.reset();
  api.dispatch.placement = { instanceId: 'worker-1', supervisorRun: 'run-1', sipTag: 'tag-1' };
  await api.context.models.sessions.deleteMany({});
  user = await api.createUser();
  agentId = await api.publishAgent(user, { webhooks: { post_call: [{ url: 'https://hook.example.com/' }] } });
}

let withoutRooms: TestCalls;
beforeAll(async () => {
  withoutRooms = await openTestCalls({ SUPERVISOR_RUN: 'run-1' });
});
beforeEach(() => use(withoutRooms));
afterAll(() => withoutRooms.close());

async function session(): Promise<string> {
  return (await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id: agentId } }))
    .body.session_id;
}

async function joined(): Promise<string> {
  const id = await session();
  await api.report(id, { type: 'joined', at: api.at() });
  return id;
}

/** One sweep by a process that has been up for `upMs`. */
const pass = (graceMs = 0, upMs = 0) =>
  sweep(api.context, { graceMs, startedAtMs: api.clock.wallTime() - upMs });
const read = (id: string) => loadSession(api.context, id);
const CREDIT = 10_000_000;

/** A session as a kill leaves it after the intent was written, with or without the charge. */
async function halfCreated(isCharged: boolean): Promise<string> {
  const { context } = api;
  const agent = await context.models.agents.findById(agentId).lean();
  const version = await context.models.versions.findOne({ agent_id: agentId }).lean();
  const draft = sessionDraft(context, {
    sessionId: `half-${isCharged}`,
    agent: agent!,
    version: version!,
    share: null,
    userId: user.userId,
    channel: 'web_voice',
    source: 'api_key',
    direction: 'inbound',
    isPreview: false,
    name: null,
    timezone: null,
    endUserId: null,
    metadata: {},
    callerNumber: null,
    dialedNumber: null,
    sipCallId: null,
    recordAudio: true,
    tokenHash: null,
  });
  if (isCharged) {
    const cut = {
      ...context,
      models: { ...context.models, sessions: failingUpdates(context.models.sessions) },
    };
    await openUnplacedSession(cut as typeof context, draft).catch(() => undefined);
  } else {
    await context.models.sessions.create(draft);
  }
  return draft._id;
}

/** Simulates a process that is killed right before its next update. */
function failingUpdates(sessions: TestCalls['context']['models']['sessions']) {
  const killed = () => {
    throw new Error('killed');
  };
  const { collection } = sessions;
  return new Proxy(sessions, {
    get: (target, name) => {
      if (name === 'findOneAndUpdate') return killed;
      if (name === 'collection')
        return { insertOne: collection.insertOne.bind(collection), updateOne: killed };
      return Reflect.get(target, name).bind?.(target) ?? Reflect.get(target, name);
    },
  });
}

describe('the sweeper', () => {
  it.each([true, false])(
    'makes an interrupted creation (charged: %s) free and unlisted, and a late charge impossible',
    async (isCharged) => {
      const id = await halfCreated(isCharged);
      expect(await api.balance(user.userId)).toBe(isCharged ? CREDIT - 60_000 : CREDIT);
      await pass(30_000);
      expect((await read(id))?.status).toBe('creating');
      await pass();
      await pass();
      expect(await read(id)).toMatchObject({
        status: 'failed',
        is_listed: false,
        billing: { state: 'settled' },
      });
      expect(await api.balance(user.userId)).toBe(CREDIT);
      const late = await api.context.ledger.post({
        userId: user.userId,
        key: `s:${id}:hold`,
        kind: 'hold',
        amountMicros: -60_000,
        floorMicros: 0,
      });
      expect(late.kind).toBe(isCharged ? 'hold' : 'void');
      expect(await api.balance(user.userId)).toBe(CREDIT);
    },
  );

  it('ends a session unjoined in time as room_join_timeout, free, and notifies its worker', async () => {
    const id = await session();
    await api.clock.advance(59_999);
    await pass();
    expect((await read(id))?.status).toBe('pending');
    await api.clock.advance(1);
    await pass();
    expect(await read(id)).toMatchObject({
      status: 'failed',
      end_reason: 'room_join_timeout',
      billing: { state: 'settled' },
      outbox: [],
    });
    expect(await api.balance(user.userId)).toBe(CREDIT);
    expect(api.dispatch.ended).toMatchObject([{ key: { sessionId: id }, reason: 'room_join_timeout' }]);
  });

  describe('with rooms', () => {
    let livekit: LivekitRooms;
    beforeEach(async () => {
      livekit = await startLivekitRooms();
      const rooms = openRooms(
        readSettings(livekit.environment),
        createLogger({ level: 'silent', name: 'test' }),
      );
      await use(await openTestCalls(livekit.environment, { rooms }));
    });
    afterEach(async () => {
      await api.close();
      await livekit.close();
    });

    it('ends a call whose agent never joined as agent_join_timeout: completed, reported, not charged', async () => {
      const id = await session();
      livekit.rooms.get(id)?.push(`user-${id}`);
      await api.clock.advance(59_999);
      await pass();
      expect((await read(id))?.status).toBe('pending');
      await api.clock.advance(1);
      await pass();
      expect(await read(id)).toMatchObject({
        status: 'completed',
        end_reason: 'agent_join_timeout',
        duration_seconds: 0,
        outbox: [],
      });
      expect(await api.context.models.deliveries.countDocuments({ session_id: id })).toBe(1);
      expect(await api.balance(user.userId)).toBe(CREDIT);
      expect(api.dispatch.ended).toMatchObject([{ key: { sessionId: id }, reason: 'agent_join_timeout' }]);
      expect(livekit.rooms.has(id)).toBe(false);
    });

    it('ends an empty room as room_join_timeout, also while LiveKit is unreachable', async () => {
      const [early, late] = [await session(), await session()];
      livekit.rooms.get(early)?.push(`agent-${early}`);
      await api.context.models.sessions.updateOne(
        { _id: late },
        { $set: { expires_at: new Date(api.clock.wallTime() + 90_000) } },
      );
      await api.clock.advance(60_000);
      await pass();
      await livekit.close();
      await api.clock.advance(30_000);
      await pass();
      for (const id of [early, late])
        expect(await read(id)).toMatchObject({ status: 'failed', end_reason: 'room_join_timeout' });
    });

    it('keeps an empty room beyond the join deadline, so that LiveKit does not end the session first', async () => {
      const id = await session();
      const joinMs = ((await read(id))?.expires_at.getTime() ?? 0) - api.clock.wallTime();
      expect(livekit.emptyTimeouts.get(id)).toBe(joinMs / 1_000 + 60);
    });

    it('waits for the worker’s report while caller and agent talk, but only for a limited time', async () => {
      const id = await session();
      livekit.rooms.get(id)?.push(`user-${id}`, `agent-${id}`);
      await api.clock.advance(60_000);
      await pass();
      expect((await read(id))?.status).toBe('pending');
      await api.clock.advance(150_000);
      await pass();
      expect((await read(id))?.status).toBe('completed');
    });
  });

  it('settles a stored but unprocessed end and passes it to the deliveries, once', async () => {
    const id = await joined();
    const stored = (await read(id)) as SessionDocument;
    await api.report(id, { type: 'ended', at: api.at(30_000), end_reason: 'user_hangup' });
    const done = (await read(id)) as SessionDocument;
    // The state right after the guarded update: money due and event in the outbox, neither processed.
    const delivery = await api.context.models.deliveries.findOneAndDelete({ session_id: id }).lean();
    const outbox = [
      {
        id: `${id}:call.ended`,
        event: 'call.ended',
        rank: 2,
        at: stored.status_at,
        payload: delivery?.payload,
      },
    ];
    await api.context.models.ledger.deleteOne({ user_id: user.userId, kind: 'settle' });
    await api.context.models.sessions.updateOne(
      { _id: id },
      {
        $set: {
          outbox,
          billing: { ...done.billing, state: 'settle_due', at: stored.status_at },
          due: DUE_BITS.settlement | DUE_BITS.outbox,
        },
      },
    );
    // Two freshly started processes without any memory.
    const fresh = () => ({
      ...api.context,
      ledger: createLedger({ entries: api.context.models.ledger, clock: api.clock }),
    });
    const start = { graceMs: 0, startedAtMs: api.clock.wallTime() };
    await Promise.all([sweep(fresh(), start), sweep(fresh(), start)]);
    await sweep(fresh(), start);
    expect(await read(id)).toMatchObject({ billing: { state: 'settled' }, outbox: [] });
    expect((await fresh().ledger.wallet(user.userId))?.newest.balanceMicros).toBe(CREDIT - 30_000);
    expect(await fresh().ledger.verify(user.userId)).toBeNull();
    expect(
      (await api.context.models.deliveries.find({ session_id: id }).lean()).map((row) => row.state),
    ).toEqual(['pending']);
  });

  it('ends an unknown session 150 s after the loss or a start, charged to when it was last seen', async () => {
    const id = await joined();
    await api.clock.advance(20_000);
    await api.sink.workerLost('worker-1');
    await api.clock.advance(150_000);
    await pass(0, 149_999);
    expect((await read(id))?.status).toBe('unknown');
    await pass(0, 150_000);
    expect(await read(id)).toMatchObject({
      status: 'completed',
      end_reason: 'heartbeat_timeout',
      duration_seconds: 20,
    });
    expect(await api.balance(user.userId)).toBe(CREDIT - 20_000);
  });

  it('ends sessions of an earlier local run after their spool’s time; unjoined ones are placed again', async () => {
    const mine = await joined();
    api.dispatch.placement = { ...api.dispatch.placement, instanceId: 'old', supervisorRun: 'run-0' };
    const orphan = await joined();
    const waiting = await session();
    api.dispatch.placement = { ...api.dispatch.placement, instanceId: 'new', supervisorRun: 'run-1' };
    expect(await pass(0, 4_999)).toBe(false);
    expect((await read(orphan))?.status).toBe('active');
    expect(await pass(0, 5_000)).toBe(false);
    // No sessions of the earlier run are left, so the sweeper stops looking for them.
    expect(await pass(0, 5_000)).toBe(true);
    expect([(await read(mine))?.status, (await read(orphan))?.end_reason]).toEqual([
      'active',
      'heartbeat_timeout',
    ]);
    expect(await read(waiting)).toMatchObject({
      status: 'pending',
      epoch: 2,
      worker: { instance_id: 'new' },
    });
  });

  it('makes live sessions unknown at a start until their worker returns', async () => {
    const id = await joined();
    const timers = api.clock.pendingTimers;
    const sweeper = startSweeper(api.context, { lastBeat: null, beat: () => undefined });
    await sweeper.idle();
    expect((await read(id))?.status).toBe('unknown');
    await api.sink.workerBack('worker-1', [{ sessionId: id, epoch: 1 }]);
    await api.clock.advance(2_000);
    await sweeper.idle();
    expect((await read(id))?.status).toBe('active');
    await sweeper.close();
    expect(api.clock.pendingTimers).toBe(timers);
  });

  it('charges calls to the last sign of life of a machine that was off for a night', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'parley-pulse-'));
    api.dispatch.placement = { ...api.dispatch.placement, instanceId: 'old', supervisorRun: 'run-0' };
    const orphan = await joined();
    await api.clock.advance(30_000);
    const evening = startSweeper(api.context, openHeartbeatFile(dataDir));
    await evening.idle();
    await api.sink.workerBack('old', [{ sessionId: orphan, epoch: 1 }]);
    await evening.close();
    await api.clock.advance(8 * 3_600_000);
    const morning = startSweeper(api.context, openHeartbeatFile(dataDir));
    await api.clock.advance(6_000);
    await morning.idle();
    expect(await read(orphan)).toMatchObject({
      status: 'completed',
      end_reason: 'heartbeat_timeout',
      duration_seconds: 30,
    });
    expect(await api.balance(user.userId)).toBe(CREDIT - 30_000);
    await morning.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('asks the store nothing while no session is open, and ends in time what is created then', async () => {
    let commands = 0;
    measureCommands(
      api.context.models.sessions,
      () => {
        commands += 1;
      },
      () => api.clock.now(),
    );
    const beats: number[] = [];
    const beat = (at: Date) => beats.push(at.getTime());
    const sweeper = startSweeper(api.context, { lastBeat: null, beat });
    const ticks = async (count: number) => {
      for (let tick = 0; tick < count; tick++) {
        await api.clock.advance(2_000);
        await sweeper.idle();
      }
    };
    await ticks(4);
    expect(commands).toBeGreaterThan(0);
    commands = 0;
    await ticks(10);
    expect(commands).toBe(0);
    expect(api.clock.wallTime() - (beats.at(-1) ?? 0)).toBe(0);
    const id = await session();
    await ticks(29);
    expect((await read(id))?.status).toBe('pending');
    await ticks(1);
    expect(await read(id)).toMatchObject({ status: 'failed', end_reason: 'room_join_timeout' });
    await sweeper.close();
  });

  it('asks the store little while a call is in progress', async () => {
    await joined();
    const sweeper = startSweeper(api.context, { lastBeat: null, beat: () => undefined });
    const ticks = async (count: number) => {
      for (let tick = 0; tick < count; tick++) {
        await api.clock.advance(2_000);
        await sweeper.idle();
      }
    };
    await ticks(5);
    let commands = 0;
    measureCommands(
      api.context.models.sessions,
      () => {
        commands += 1;
      },
      () => api.clock.now(),
    );
    await ticks(25);
    // At each tick, whether anything is open and who has not joined; at every fifth, all else.
    expect(commands).toBe(25 * 2 + 5 * 3);
    await sweeper.close();
  });
});
