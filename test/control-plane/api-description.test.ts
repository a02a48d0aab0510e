import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EXAMPLE_IDS } from '#control-plane/platform/http/example-of.ts';
import {
  scorecardWebhookEvent,
  shareWebhookEvent,
  textWebhookEvent,
  webhookEvent,
} from '#protocol/webhook-events.ts';
import { describedRoutes, encoded, type Media, type Route } from './described-routes.ts';
import { openTestApi, type TestApi, type TestUser } from './test-api.ts';

let api: TestApi;
let user: TestUser;
let routes: Route[];

beforeAll(async () => {
  api = await openTestApi();
  user = await api.createUser();
  // The bodies and answers of the compatible surfaces are documented by the vendors of those protocols.
  routes = (await describedRoutes(api)).filter(({ path }) => !path.startsWith('/compat'));
});
afterAll(() => api.close());

/** Creates one of each resource an example refers to, keyed by the name of its id. */
async function realThings(): Promise<Record<string, string>> {
  const create = async (url: string, body: object) =>
    (await api.request('POST', url, { key: user.key, body })).body;
  const { agent_id } = await create('/v1/agent/agents', { name: 'a' });
  const { tool_id } = await create('/v1/agent/tools', { name: 't', url: 'https://t.example.com' });
  const simulation = { scenario: 's', success_conditions: [{ name: 'c', description: 'd' }] };
  const { test_id } = await create('/v1/agent/tests', {
    name: 't',
    test_type: 'simulation',
    agent_ids: [agent_id],
    simulation,
  });
  const trunk = { provider: 'sip', phone_number: '+15550109998', inbound_allowed_addresses: ['203.0.113.1'] };
  const { phone_number_id } = await create('/v1/agent/phone-numbers', trunk);
  return { agent_id, tool_id, test_id, phone_number_id, user_id: user.userId };
}

describe('the description of the API', () => {
  it('has an example of every body', () => {
    const bodies = routes.flatMap(({ name, bodies }) =>
      [...bodies].map(([type, { example }]) => ({ name: `${name} ${type}`, example })),
    );
    expect(bodies.length).toBeGreaterThan(30);
    for (const { name, example } of bodies) expect(Object.keys(example ?? {}), name).not.toEqual([]);
  });

  it('has a unique name for every route', async () => {
    const { paths } = (await api.request('GET', '/openapi.json')).body as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    const names = Object.values(paths).flatMap((operations) =>
      Object.values(operations).map(({ operationId }) => operationId),
    );
    expect(names).toEqual(
      expect.arrayContaining([
        'getAgents',
        'getAgentsByAgentIdConfig',
        'postTts',
        'postAdminUsers',
        'getWalletByUserIdApiCredit',
      ]),
    );
    for (const name of names) expect(name).toMatch(/^[a-z][A-Za-z0-9]+$/);
    expect(new Set(names).size).toBe(names.length);
  });

  it('has one success response per route, with a valid example', () => {
    const isSuccess = (status: string) => status.startsWith('2');
    for (const { name, answers } of routes)
      expect([name, [...answers.keys()].filter(isSuccess).length]).toEqual([name, 1]);
    const media = routes.flatMap(({ name, answers }) =>
      [...answers].flatMap(([status, types]) =>
        [...types].map(([type, one]): [string, Media] => [`${name} ${status} ${type}`, one]),
      ),
    );
    for (const [name, { schema, example }] of media) {
      expect(example, name).toBeDefined();
      if (name.endsWith('application/json'))
        expect([
          name,
          z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]).safeParse(example).error?.issues,
        ]).toEqual([name, undefined]);
    }
  });

  const schemaIn = (name: string, status: string, type: string) => {
    const schema = routes
      .find((route) => route.name === name)
      ?.answers.get(status)
      ?.get(type)?.schema;
    if (!schema) throw new Error(`${name} ${status} ${type} is not described`);
    return schema as Parameters<typeof z.fromJSONSchema>[0];
  };

  it('describes both forms of a 401: an error body for a bad key, no body for a missing key', async () => {
    const described = z.fromJSONSchema(schemaIn('GET /v1/agent/agents', '401', 'application/json'));
    const [bad, none] = [
      await api.request('GET', '/v1/agent/agents', { key: 'pk_nobody' }),
      await api.request('GET', '/v1/agent/agents'),
    ];
    expect([bad.status, none.status, none.text]).toEqual([401, 401, '']);
    expect(described.safeParse(bad.body).success).toBe(true);
    expect(described.safeParse(null).success).toBe(true);
    expect(described.safeParse({ other: 1 }).success).toBe(false);
  });

  it('describes both forms of a 422 for a refused call', async () => {
    const described = z.fromJSONSchema(schemaIn('POST /v1/agent/phone-calls', '422', 'application/json'));
    const entry = { type: 'missing', loc: ['body', 'agent_id'], msg: 'Field required', ctx: {}, in: 'body' };
    expect(described.safeParse([entry]).success).toBe(true);
    expect(described.safeParse({ status: 422, message: 'm', reason: 'self_call_blocked' }).success).toBe(
      true,
    );
    expect(described.safeParse({ status: 422 }).success).toBe(false);
  });

  it('describes event and line streams as text, and audio as bytes', () => {
    const streams = routes.flatMap(({ answers }) =>
      [...answers.values()].flatMap((types) =>
        [...types].filter(([type]) => /event-stream|ndjson/.test(type)).map(([, { schema }]) => schema),
      ),
    );
    expect(streams.length).toBeGreaterThan(2);
    for (const schema of streams) expect(schema).toEqual({ type: 'string' });
    expect(schemaIn('POST /v1/tts', '200', 'audio/mpeg')).toEqual({ type: 'string', format: 'binary' });
  });

  it("gives a wallet's package the same _id as its credit", async () => {
    const of = (path: string) => api.request('GET', `/wallet/${user.userId}/${path}`, { key: user.key });
    expect((await of('package')).body._id).toBe((await of('api-credit')).body._id);
  });

  it('describes every webhook, with an example that fits its schema', async () => {
    const { webhooks } = (await api.request('GET', '/openapi.json')).body as {
      webhooks: Record<string, { post: { requestBody: { content: Record<string, Media> } } }>;
    };
    const events = [
      ...webhookEvent.options,
      ...textWebhookEvent.options,
      shareWebhookEvent,
      scorecardWebhookEvent,
    ].map(({ shape }) => shape.event.value);
    expect(Object.keys(webhooks)).toEqual([...events, 'call.inbound']);
    for (const [event, { post }] of Object.entries(webhooks)) {
      const { schema, example } = post.requestBody.content['application/json'] as Media;
      expect(example).toMatchObject({ event });
      const described = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
      expect([event, described.safeParse(example).error?.issues]).toEqual([event, undefined]);
      expect(described.safeParse({ ...(example as object), later_field: 1 }).success).toBe(true);
    }
  });

  it('has only examples of bodies that are accepted', async () => {
    const real = await realThings();
    const withRealIds = (text: string) =>
      Object.entries(EXAMPLE_IDS).reduce(
        (changed, [name, id]) => changed.replaceAll(id, real[name] ?? id),
        text,
      );
    for (const { name, path, method, bodies } of routes.filter(
      ({ bodies, access }) => bodies.size > 0 && access !== 'none',
    )) {
      const [type, media] = [...bodies][0] ?? ['', { example: {} }];
      const url = path.replace(/\{([a-z_]+)\}/g, (_, id: string) => real[id] ?? 'missing');
      const key = path.startsWith('/admin') ? api.rootKey : user.key;
      const answer = await api.request(method, url, {
        key,
        ...(await encoded(type, JSON.parse(withRealIds(JSON.stringify(media.example))))),
      });
      // The text in place of an audio file is not audio, so a refusal for that reason is accepted.
      const isRefused = [400, 415, 422].includes(answer.status) && !/audio/i.test(answer.text);
      expect(isRefused, `${name} ${answer.status} ${answer.text}`).toBe(false);
    }
  });
});
