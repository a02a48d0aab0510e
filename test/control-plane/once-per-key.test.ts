/** Requests with an Idempotency-Key, on every route that knows one, and on those that refuse it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { fault } from '#config/errors.ts';
import { oncePerKey } from '#control-plane/platform/http/once-per-key.ts';
import type { Models } from '#control-plane/platform/store/models.ts';
import type { TestResponse, TestUser } from './test-api.ts';
import { openTestCalls, type TestCalls } from './test-calls.ts';
import { insertNumber } from './test-numbers.ts';

const KEY = 'order-1042';
const FORM = 'multipart/form-data; boundary=b';

let api: TestCalls;
let user: TestUser;
let agentId: string;
let numberId: string;

beforeAll(async () => {
  api = await openTestCalls({ SIP_TRUNK_URI: 'trunk.example.com:5080' });
});
beforeEach(async () => {
  user = await api.createUser();
  agentId = await api.publishAgent(user);
  numberId = await insertNumber(api, user);
});
afterAll(() => api.close());

interface Creation {
  /** Route, with the agent of the test for `:agent`. */
  readonly url: string;
  readonly idField: string;
  readonly model: keyof Models;
  /** Two different requests. */
  readonly bodies: (this: void) => readonly [object | string, object | string];
  /** How long a key is held by an attempt that was killed, ms. */
  readonly leaseMs: number;
  /** Whether an attempt that was killed before the thing was there leaves parts under its id. */
  readonly leavesParts?: true;
}

const line = (username: string) => ({ registrar: 'pbx.example.com', username, password: 'x' });
const form = (text: string) =>
  `--b\r\nContent-Disposition: form-data; name="source"; filename="a.md"\r\n\r\n${text}\r\n--b--\r\n`;
const next = (() => {
  let count = 5_550_100;
  return () => `+1212${++count}`;
})();
const test = (name: string) => ({
  name,
  test_type: 'next_reply',
  conversation: [{ role: 'user', text: 'Hi' }],
  expectation: 'A greeting',
  agent_ids: [agentId],
});
const batch = (to_number: string) => ({
  agent_id: agentId,
  phone_number_id: numberId,
  schedule: { calling_hours: null },
  recipients: [{ to_number: '+14155550123' }, { to_number }],
});
const imported = () => ({
  provider: 'sip',
  phone_number: next(),
  inbound_allowed_addresses: ['198.51.100.0/28'],
});

const CREATIONS: readonly (readonly [string, Creation])[] = [
  [
    'an agent',
    {
      url: '/v1/agent/agents',
      idField: 'agent_id',
      model: 'agents',
      bodies: () => [{ name: 'Ada' }, { name: 'Bo' }],
      leaseMs: 30_000,
    },
  ],
  [
    'a tool',
    {
      url: '/v1/agent/tools',
      idField: 'tool_id',
      model: 'tools',
      bodies: () => [
        { name: 'Find', url: 'https://shop.example.com/a' },
        { name: 'Find', url: 'https://shop.example.com/b' },
      ],
      leaseMs: 30_000,
    },
  ],
  [
    'a tool server',
    {
      url: '/v1/agent/tool-servers',
      idField: 'tool_server_id',
      model: 'toolServers',
      bodies: () => [
        { name: 'Desk', url: 'https://desk.example.com/mcp' },
        { name: 'Desk', url: 'https://other.example.com/mcp' },
      ],
      leaseMs: 30_000,
    },
  ],
  [
    'a SIP registration',
    {
      url: '/v1/agent/sip-registrations',
      idField: 'sip_registration_id',
      model: 'sipRegistrations',
      bodies: () => [line('204'), line('205')],
      leaseMs: 30_000,
    },
  ],
  [
    'a knowledge source',
    {
      url: '/v1/agent/knowledge-sources',
      idField: 'knowledge_source_id',
      model: 'knowledge',
      bodies: () => [form('We open at nine.'), form('We open at ten.')],
      leaseMs: 30_000,
    },
  ],
  [
    'an agent test',
    {
      url: '/v1/agent/tests',
      idField: 'test_id',
      model: 'agentTests',
      bodies: () => [test('Greets'), test('Parts')],
      leaseMs: 30_000,
    },
  ],
  [
    'a text session',
    {
      url: '/v1/agent/text-sessions',
      idField: 'text_session_id',
      model: 'textSessions',
      bodies: () => [{ agent_id: agentId }, { agent_id: agentId, end_user_id: 'ada' }],
      leaseMs: 120_000,
      leavesParts: true,
    },
  ],
  [
    'a batch of calls',
    {
      url: '/v1/agent/batch-calls',
      idField: 'batch_call_id',
      model: 'batchCalls',
      bodies: () => [batch('+14155550124'), batch('+14155550125')],
      leaseMs: 120_000,
    },
  ],
  [
    'an imported number',
    {
      url: '/v1/agent/phone-numbers',
      idField: 'phone_number_id',
      model: 'numbers',
      bodies: () => [imported(), imported()],
      leaseMs: 120_000,
    },
  ],
];

function send(
  { url }: Pick<Creation, 'url'>,
  body: object | string,
  { key = user.key, as = KEY }: { readonly key?: string; readonly as?: string | null } = {},
): Promise<TestResponse> {
  const headers = {
    ...(as === null ? {} : { 'idempotency-key': as }),
    ...(typeof body === 'string' ? { 'content-type': FORM } : {}),
  };
  return api.request('POST', url, { key, headers, ...(typeof body === 'string' ? { raw: body } : { body }) });
}

const countOf = ({ model }: Creation): Promise<number> =>
  // Every one of these has the team that owns it.
  (api.context.models[model] as Models['agents']).countDocuments({ team_id: user.teamId });

async function deleted({ model }: Creation, id: string): Promise<void> {
  await (api.context.models[model] as Models['agents']).deleteOne({ _id: id });
  // Rows of a batch are stored after it, and deleted with it.
  await api.context.models.batchRows.deleteMany({ batch_id: id });
}

/** The key as a process leaves it that was killed before it had noted the result. */
const killed = () =>
  api.context.models.idempotencyKeys.updateOne(
    { _id: `${user.teamId}:${KEY}` },
    { $set: { state: 'in_flight' } },
  );

describe.each(CREATIONS)('%s with an Idempotency-Key', (_, creation) => {
  it('is made once, however often the same request is repeated', async () => {
    const before = await countOf(creation);
    const [body] = creation.bodies();
    const first = await send(creation, body);
    expect([first.status, first.body[creation.idField]]).toEqual([201, expect.any(String)]);
    const again = await send(creation, body);
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect(await countOf(creation)).toBe(before + 1);
  });

  it('is made once by ten requests at once; the others get it or a conflict', async () => {
    const before = await countOf(creation);
    const [body] = creation.bodies();
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(creation, body)));
    const made = answers.filter(({ status }) => status === 201);
    expect(new Set(made.map((answer) => answer.body[creation.idField])).size).toBe(1);
    for (const answer of answers.filter(({ status }) => status !== 201))
      expect(answer.body).toMatchObject({ status: 409, reason: 'idempotency_key_conflict' });
    expect(await countOf(creation)).toBe(before + 1);
  });

  it('is refused with 422 if the key was used with another body', async () => {
    const [body, other] = creation.bodies();
    await send(creation, body);
    const { status, body: refusal } = await send(creation, other);
    expect([status, refusal.reason]).toEqual([422, 'idempotency_key_reuse']);
  });

  it('is found after its process was killed, once the key is free', async () => {
    const [body] = creation.bodies();
    const { [creation.idField]: id } = (await send(creation, body)).body;
    const before = await countOf(creation);
    await killed();
    expect((await send(creation, body)).body.reason).toBe('idempotency_key_conflict');
    await api.clock.advance(creation.leaseMs);
    const again = await send(creation, body);
    expect([again.status, again.body[creation.idField]]).toEqual([201, id]);
    expect(await countOf(creation)).toBe(before);
  });

  it('is made if its process was killed before', async () => {
    const [body] = creation.bodies();
    const { [creation.idField]: id } = (await send(creation, body)).body;
    await deleted(creation, id);
    const before = await countOf(creation);
    await killed();
    await api.clock.advance(creation.leaseMs);
    const again = await send(creation, body);
    expect([again.status, again.body[creation.idField] === id]).toEqual([201, !creation.leavesParts]);
    expect(await countOf(creation)).toBe(before + 1);
  });

  it('is not made again after it was deleted', async () => {
    const [body] = creation.bodies();
    const { [creation.idField]: id } = (await send(creation, body)).body;
    await deleted(creation, id);
    const before = await countOf(creation);
    expect((await send(creation, body)).status).toBe(404);
    expect(await countOf(creation)).toBe(before);
  });
});

describe('an Idempotency-Key', () => {
  const AGENTS = { url: '/v1/agent/agents' };

  it('is refused on another route than its first one', async () => {
    await send(AGENTS, { name: 'Ada' });
    const other = await send({ url: '/v1/agent/tools' }, { name: 'Ada', url: 'https://shop.example.com/a' });
    expect([other.status, other.body.reason]).toEqual([422, 'idempotency_key_reuse']);
  });

  it.each([
    [255, 201],
    [256, 422],
  ])('of %i characters is answered with %i', async (length, status) => {
    expect((await send(AGENTS, { name: 'Ada' }, { as: 'k'.repeat(length) })).status).toBe(status);
  });

  it('belongs to its account', async () => {
    const first = await send(AGENTS, { name: 'Ada' });
    const { key } = await api.createUser();
    const other = await send(AGENTS, { name: 'Bo' }, { key });
    expect([other.status, other.body.agent_id === first.body.agent_id]).toEqual([201, false]);
  });

  it('is released by a refused request', async () => {
    const refused = await send(AGENTS, { name: 'Ada', config: { tools: { tool_ids: ['unknown'] } } });
    expect(refused.status).toBe(422);
    expect((await send(AGENTS, { name: 'Ada' })).status).toBe(201);
  });

  it('is forgotten after 24 hours', async () => {
    const first = await send(AGENTS, { name: 'Ada' });
    await api.clock.advance(24 * 60 * 60 * 1_000);
    const later = await send(AGENTS, { name: 'Ada' });
    expect([later.status, later.body.agent_id === first.body.agent_id]).toEqual([201, false]);
  });

  it('returns the thing as it is now', async () => {
    const { agent_id } = (await send(AGENTS, { name: 'Ada' })).body;
    await api.request('PATCH', `/v1/agent/agents/${agent_id}`, { key: user.key, body: { name: 'Eve' } });
    expect((await send(AGENTS, { name: 'Ada' })).body).toMatchObject({ agent_id, name: 'Eve' });
  });

  it('has one change in the audit log, however often its request is repeated', async () => {
    await send(AGENTS, { name: 'Ada' });
    const changes = () => api.context.models.auditLog.countDocuments({ team_id: user.teamId });
    const before = await changes();
    expect((await send(AGENTS, { name: 'Ada' })).status).toBe(201);
    expect(await changes()).toBe(before);
  });

  it('makes no other number after its own was released, even if its process was killed', async () => {
    const numbers = { url: '/v1/agent/phone-numbers' };
    const body = imported();
    const { phone_number_id } = (await send(numbers, body)).body;
    await killed();
    await api.request('DELETE', `/v1/agent/phone-numbers/${phone_number_id}`, { key: user.key });
    await api.clock.advance(120_000);
    expect((await send(numbers, body)).status).toBe(404);
  });

  it('is not released by a request that was considered dead, and is refused late', async () => {
    const [slow, next] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
    const request = { teamId: user.teamId, key: KEY, asks: 'a thing' };
    const attempt = (make: () => Promise<string>) =>
      oncePerKey(api.context, request, { make, find: async (id) => id, leftBy: async () => 'nothing' });
    const until = (state: object) =>
      vi.waitFor(async () =>
        expect(await api.context.models.idempotencyKeys.countDocuments(state)).toBeGreaterThan(0),
      );
    const late = attempt(() => slow.promise);
    const ofTeam = { _id: `${user.teamId}:${KEY}` };
    await until(ofTeam);
    await api.clock.advance(30_000);
    const second = attempt(() => next.promise);
    await until({ ...ofTeam, lease_until: { $gt: new Date(api.clock.wallTime()) } });
    slow.reject(fault('conflict'));
    await expect(late).rejects.toThrow();
    await expect(attempt(async () => 'a third thing')).rejects.toMatchObject({
      code: 'idempotency_key_conflict',
    });
    next.resolve('the thing');
    expect(await second).toBe('the thing');
  });

  it('is no conflict for the request whose own claim reached the store twice', async () => {
    const keys = api.context.models.idempotencyKeys;
    const create = keys.create.bind(keys) as (stored: object) => Promise<unknown>;
    vi.spyOn(keys, 'create').mockImplementationOnce((async (stored: object) => {
      await create(stored);
      await create(stored);
    }) as never);
    expect((await send(AGENTS, { name: 'Ada' })).status).toBe(201);
  });

  it('keeps its batch of calls when the request that was given up goes on', async () => {
    const batches = { url: '/v1/agent/batch-calls' };
    const { models } = api.context;
    const [frozen, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { collection } = models.batchRows;
    const insertMany = collection.insertMany.bind(collection);
    vi.spyOn(collection, 'insertMany').mockImplementationOnce(async (...rows) => {
      frozen.resolve();
      await goesOn.promise;
      return insertMany(...rows);
    });
    const first = send(batches, batch('+14155550124'));
    await frozen.promise;
    await models.batchCalls.deleteMany({ team_id: user.teamId });
    await api.clock.advance(120_000);
    const again = await send(batches, batch('+14155550124'));
    goesOn.resolve();
    expect([again.status, (await first).status]).toEqual([201, 409]);
    expect(await models.batchRows.countDocuments({ batch_id: again.body.batch_call_id })).toBe(2);
  });

  it('starts the tests of an agent once', async () => {
    await send({ url: '/v1/agent/tests' }, test('Greets'), { as: null });
    const run = { url: `/v1/agent/agents/${agentId}/tests/run` };
    const first = await send(run, {});
    expect(first.status).toBe(201);
    expect((await send(run, {})).body.batch_id).toBe(first.body.batch_id);
    expect(await api.context.models.testBatches.countDocuments({ team_id: user.teamId })).toBe(1);
  });

  it.each([
    '/v1/keys',
    '/v1/agent/sessions',
    '/v1/agent/agents/:agent/preview-sessions',
    '/v1/agent/agents/:agent/test-calls',
    '/v1/agent/sessions/none/participants',
  ])('is refused by %s, whose answer has a secret', async (url) => {
    const before = await api.context.models.keys.countDocuments({ user_id: user.userId });
    const answer = await send({ url: url.replace(':agent', agentId) }, { name: 'mine' });
    expect([answer.status, answer.body.reason]).toEqual([422, 'idempotency_key_unsupported']);
    expect(await api.context.models.keys.countDocuments({ user_id: user.userId })).toBe(before);
  });

  it.each(['/admin/keys', '/admin/users'])('is refused by %s, whose answer has a secret', async (url) => {
    const answer = await send({ url }, {}, { key: api.rootKey });
    expect([answer.status, answer.body.reason]).toEqual([422, 'idempotency_key_unsupported']);
  });
});
