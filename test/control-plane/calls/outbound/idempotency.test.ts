import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadSession } from '#control-plane/calls/sessions/session-store.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { insertNumber } from '../../test-numbers.ts';

const CALLED = '+14155550123';
const HOLD = 70_000;
const CREDIT = 10_000_000;

let api: TestCalls;
let user: TestUser;
let agentId: string;
let managed: string;

beforeAll(async () => {
  api = await openTestCalls({ SIP_TRUNK_URI: 'trunk.example.com:5080' });
});
beforeEach(async () => {
  api.dispatch.reset();
  user = await api.createUser();
  agentId = await api.publishAgent(user);
  managed = await insertNumber(api, user);
});
afterAll(() => api.close());

const call = (over: Record<string, unknown>, headers: Record<string, string>, key = user.key) =>
  api.request('POST', '/v1/agent/phone-calls', {
    key,
    headers,
    body: { agent_id: agentId, phone_number_id: managed, to_number: CALLED, ...over },
  });
const sessions = () => api.context.models.sessions.countDocuments({ user_id: user.userId });

describe('an Idempotency-Key', () => {
  const keyed = (key: string, over: Record<string, unknown> = {}) => call(over, { 'idempotency-key': key });

  it('returns the call already placed if the body is the same, for 24 hours', async () => {
    const first = await keyed('k');
    const again = await keyed('k');
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect([await sessions(), await api.balance(user.userId)]).toEqual([1, CREDIT - HOLD]);
    // The key is scoped to the team.
    const { key } = user;
    user = await api.createUser();
    const other = { agent_id: await api.publishAgent(user), phone_number_id: await insertNumber(api, user) };
    expect((await keyed('k', other)).body.session_id).not.toBe(first.body.session_id);
    await api.clock.advance(24 * 60 * 60 * 1000);
    const later = await call({}, { 'idempotency-key': 'k' }, key);
    expect([later.status, later.body.session_id === first.body.session_id]).toEqual([201, false]);
  });

  it('is rejected with another body', async () => {
    await keyed('k');
    const { status, body } = await keyed('k', { to_number: '+14155550124' });
    expect([status, body.reason]).toEqual([422, 'idempotency_key_reuse']);
  });

  it('places one call if it is used twenty times at once; the others get its session or a conflict', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => keyed('k')));
    const placed = answers.filter(({ status }) => status === 201);
    expect(new Set(placed.map(({ body }) => body.session_id)).size).toBe(1);
    for (const { body } of answers.filter(({ status }) => status !== 201))
      expect(body).toMatchObject({ status: 409, reason: 'idempotency_key_conflict' });
    expect([await sessions(), api.dispatch.plans.length]).toEqual([1, 1]);
  });

  it('can be used again after a rejected attempt', async () => {
    api.dispatch.room = 0;
    expect((await keyed('k')).status).toBe(503);
    api.dispatch.reset();
    expect((await keyed('k', { to_number: '+14155550124' })).status).toBe(201);
  });

  describe('that was used in an attempt that crashed', () => {
    /** Leaves the key as a crash would; `session` sets how far the call had got. */
    async function crashed(session: Record<string, unknown> | null): Promise<string> {
      const id = (await keyed('k')).body.session_id;
      const { idempotencyKeys, sessions: stored } = api.context.models;
      await idempotencyKeys.updateOne({ _id: `${user.teamId}:k` }, { $set: { state: 'in_flight' } });
      if (session) await stored.updateOne({ _id: id }, { $set: session });
      const { status, body } = await keyed('k');
      expect([status, body.reason]).toEqual([409, 'idempotency_key_conflict']);
      await api.clock.advance(30_000);
      return id;
    }

    it('returns the call if it had been placed', async () => {
      const id = await crashed(null);
      expect((await keyed('k')).body.session_id).toBe(id);
      expect(await sessions()).toBe(1);
    });

    it.each([
      ['before the charge was confirmed', { status: 'creating', 'billing.state': 'hold_due', worker: null }],
      ['before a worker took it', { worker: null }],
    ])(
      'drops that attempt, returns its charge and places the call if the crash was %s',
      async (_name, session) => {
        const id = await crashed(session);
        const { status, body } = await keyed('k');
        expect([status, body.session_id === id]).toEqual([201, false]);
        expect((await loadSession(api.context, id))?.is_listed).toBe(false);
        expect(await api.balance(user.userId)).toBe(CREDIT - HOLD);
        expect((await keyed('k')).body.session_id).toBe(body.session_id);
      },
    );

    it('places the call if nothing had been written', async () => {
      const id = await crashed(null);
      await api.context.models.sessions.deleteOne({ _id: id });
      expect((await keyed('k')).body.session_id).toBe(id);
    });
  });
});
