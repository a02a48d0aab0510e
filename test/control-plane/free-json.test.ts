/** Free JSON of tenants and visitors round-trips through the API, whatever its keys. */
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { buildIndexes } from '#control-plane/platform/store/build-indexes.ts';
import { defineModels } from '#control-plane/platform/store/models.ts';
import { onEveryDatabase } from './platform/store/on-every-database.ts';
import type { TestUser } from './test-api.ts';
import { openTestCalls, type TestCalls } from './test-calls.ts';

const RUNS = { numRuns: 60 };
const ODD_KEYS = [
  '$ref',
  '$id',
  '$db',
  '$where',
  '$set',
  '_bsontype',
  '__proto__',
  'constructor',
  'prototype',
  'toJSON',
  'toObject',
  'toBSON',
];
const ODDER_KEYS = [
  'length',
  'a.b',
  '.',
  '',
  '\u0000',
  'a\u0000b',
  '$',
  '0',
  '_id',
  '__v',
  '$__',
  'hasOwnProperty',
  '\u202e',
];

const text = fc.string({ unit: 'binary', maxLength: 12 });
const key = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...ODD_KEYS, ...ODDER_KEYS) },
  { weight: 1, arbitrary: text },
);
const odd = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, 1e308),
    fc.integer(),
    text,
    tie('object'),
    fc.array(tie('value'), { maxLength: 3 }),
  ),
  object: fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
}));
/** `$ref` with `$id` is an object the driver would treat as a reference. */
const object = fc.oneof(
  odd.object,
  odd.value.map((id) => ({ $ref: 'x', $id: id })),
  odd.object.map((inner) => ({ inner })),
);
const scalar = fc.oneof(text, fc.integer(), fc.boolean());
const scalars = fc.dictionary(fc.oneof(key, fc.stringMatching(/^[a-z]{1,6}$/)), scalar, {
  maxKeys: 3,
  noNullPrototype: true,
});
/** The value as JSON carries it: without −0. */
const sent = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

onEveryDatabase('free JSON', (database) => {
  let api: TestCalls;
  let user: TestUser;
  let agentId: string;
  const ask = (method: 'GET' | 'POST' | 'PUT' | 'PATCH', path: string, body?: unknown) =>
    api.request(method, `/v1/agent/${path}`, { key: user.key, ...(body === undefined ? {} : { body }) });

  /** Sends the arbitrary's values: each is refused with 422, or accepted and read back unchanged. */
  async function roundTrips<T>(
    values: fc.Arbitrary<T>,
    send: (value: T) => Promise<{ status: number; read(): Promise<unknown> }>,
  ): Promise<void> {
    await fc.assert(
      fc.asyncProperty(values, async (value) => {
        const { status, read } = await send(value);
        if (status === 422) return;
        expect(status).toBeLessThan(300);
        expect(JSON.stringify(await read())).toBe(JSON.stringify(sent(value)));
      }),
      RUNS,
    );
  }

  beforeAll(async () => {
    const models = defineModels(database().connection);
    await buildIndexes(models);
    api = await openTestCalls(
      { PUBLIC_RATE_PER_AGENT: '100000', PUBLIC_RATE_PER_IP: '100000', LIMIT_BATCHES_PER_MINUTE: 'none' },
      {},
      {
        database: database(),
        models,
        close: async () => undefined,
      },
    );
  });
  beforeEach(async () => {
    api.dispatch.reset();
    user = await api.createUser({ credit: '100000.00', phone_number_limit: 1_000 });
    agentId = await api.publishAgent(
      user,
      {},
      { public_enabled: true, allowed_origins: ['https://shop.example.com'] },
    );
  });
  afterAll(() => api.close());

  it('store 1: session metadata round-trips unchanged in the detail and in the list', async () => {
    await roundTrips(object, async (metadata) => {
      const created = await ask('POST', 'sessions', { agent_id: agentId, metadata });
      return {
        status: created.status,
        read: async () => {
          const listed = await ask('GET', 'sessions?status=pending');
          expect(listed.status).toBe(200);
          const detail = await ask('GET', `sessions/${created.body.session_id}`);
          return detail.body.metadata;
        },
      };
    });
  });

  it("store 1: metadata from a public page leaves the owner's list of sessions readable", async () => {
    const created = await api.request('POST', '/v1/agent/sessions', {
      headers: { origin: 'https://shop.example.com' },
      body: { agent_id: agentId, metadata: { $ref: 'x', $id: 1 } },
    });
    expect(created.status).toBe(201);
    const { status, body } = await ask('GET', 'sessions?status=pending');
    expect(status).toBe(200);
    expect(body.sessions[0].metadata).toEqual({ $ref: 'x', $id: 1 });
  });

  it('store 1: metadata stored as an object by an earlier version is still read, references included', async () => {
    const created = await ask('POST', 'sessions', { agent_id: agentId, metadata: {} });
    const read = async (metadata: object) => {
      await api.context.models.sessions.collection.updateOne({ _id: created.body.session_id } as object, [
        { $set: { metadata: { $literal: metadata } } },
      ]);
      return (await ask('GET', `sessions/${created.body.session_id}`)).body.metadata;
    };
    expect(await read({ order: 7 })).toEqual({ order: 7 });
    expect(await read({ $ref: 'x', $id: 1 })).toEqual({ $ref: 'x', $id: 1 });
  });

  it('store 1: variable values reach the call unchanged', async () => {
    await roundTrips(scalars, async (dynamic_variables) => {
      const { status } = await ask('POST', 'sessions', { agent_id: agentId, dynamic_variables });
      return { status, read: async () => api.dispatch.plans.at(-1)?.plan.variables };
    });
  });

  it('store 1: an agent’s default variables round-trip unchanged', async () => {
    await roundTrips(scalars, async (defaults) => {
      const { status } = await ask('PATCH', `agents/${agentId}/config`, { variables: { defaults } });
      return {
        status,
        read: async () => (await ask('GET', `agents/${agentId}/config`)).body.variables.defaults,
      };
    });
  });

  it('store 1: a tool’s headers and mock responses round-trip unchanged', async () => {
    await roundTrips(fc.record({ name: key, value: text, body: text }), async ({ name, value, body }) => {
      const created = await ask('POST', 'tools', {
        name: 'look up',
        url: 'https://a.example.com',
        headers: [{ name, kind: 'custom', value }],
        mock_responses: [{ name: 'm', status_code: 200, content_type: 'text/plain', body }],
      });
      return {
        status: created.status,
        read: async () => {
          const tool = (await ask('GET', `tools/${created.body.tool_id}`)).body;
          return {
            name: tool.headers[0].name,
            value: tool.headers[0].value,
            body: tool.mock_responses[0].body,
          };
        },
      };
    });
  });

  it('store 1: a test’s fixtures round-trip unchanged', async () => {
    const fixtures = fc.record({
      result: fc.oneof(object, odd.value),
      params: fc.dictionary(
        key,
        text.map((value) => ({ type: 'exact', value })),
        { maxKeys: 3 },
      ),
    });
    await roundTrips(fixtures, async ({ result, params }) => {
      const created = await ask('POST', 'tests', {
        name: 't',
        test_type: 'simulation',
        agent_ids: [agentId],
        simulation: {
          scenario: 's',
          success_conditions: [{ name: 'c', description: 'd' }],
          tool_mocks: { tools: [{ tool: 'x', result, when: params }] },
        },
      });
      return {
        status: created.status,
        read: async () => {
          const [mock] = (await ask('GET', `tests/${created.body.test_id}`)).body.simulation.tool_mocks.tools;
          return { result: mock.result, params: mock.when };
        },
      };
    });
  });

  it('store 1: the termination headers of an imported number round-trip unchanged', async () => {
    let next = 15550200000;
    const names = fc.oneof(key, fc.constantFrom('X-Order', 'x-__proto__', 'X-constructor', 'X-$ref'));
    await roundTrips(
      fc.dictionary(names, text, { maxKeys: 3, noNullPrototype: true }),
      async (termination_headers) => {
        const created = await ask('POST', 'phone-numbers', {
          provider: 'sip',
          phone_number: `+${next++}`,
          inbound_allowed_addresses: ['203.0.113.1'],
          termination_headers,
        });
        return {
          status: created.status,
          read: async () =>
            (await ask('GET', `phone-numbers/${created.body.phone_number_id}`)).body.termination_headers,
        };
      },
    );
  });

  it('store 1: batch metadata round-trips unchanged, and a __proto__ key in its file is rejected', async () => {
    const number = await ask('POST', 'phone-numbers', {
      provider: 'sip',
      phone_number: '+15550299999',
      inbound_allowed_addresses: ['203.0.113.1'],
      termination_uri: 'sip.example.com',
    });
    const batch = { agent_id: agentId, phone_number_id: number.body.phone_number_id };
    await roundTrips(object, async (metadata) => {
      const created = await ask('POST', 'batch-calls', {
        ...batch,
        recipients: [{ to_number: '+14155550123', metadata }],
      });
      return {
        status: created.status,
        read: async () =>
          (await ask('GET', `batch-calls/${created.body.batch_call_id}/rows`)).body.rows[0].metadata,
      };
    });
    const file = 'to_number,metadata\n+14155550123,"{""__proto__"": {""a"": 1}}"\n';
    const form =
      '--b\r\nContent-Disposition: form-data; ' +
      `name="agent_id"\r\n\r\n${agentId}\r\n--b\r\nContent-Disposition: form-data; ` +
      `name="phone_number_id"\r\n\r\n${batch.phone_number_id}\r\n--b\r\nContent-Disposition: form-data; ` +
      `name="recipients"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\n${file}\r\n--b--\r\n`;
    const refused = await api.request('POST', '/v1/agent/batch-calls', {
      key: user.key,
      raw: form,
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
    });
    expect(refused.status).toBe(422);
  });

  it.each(['metadata', 'llm_extra_body'])(
    'store 1: %s nested 100,000 levels deep is rejected',
    async (field) => {
      const raw = `{"agent_id":"${agentId}","${field}":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
      expect((await api.request('POST', '/v1/agent/sessions', { key: user.key, raw })).status).toBe(422);
    },
  );

  it.each([
    '{"name":"a","__proto__":{"b":1}}',
    '{"name":"a","config":{"variables":{"defaults":{"__proto__":{}}}}}',
  ])('store 1: the key __proto__ is rejected with 422: %s', async (raw) => {
    expect((await api.request('POST', '/v1/agent/agents', { key: user.key, raw })).status).toBe(422);
  });
});
