/**
 * Journey: two control planes in separate processes, on one store and one Redis, with a worker and a phone at
 * the first. Guarantees of one control plane hold across both.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { PhoneCaller } from '#caller/phone-caller.ts';
import { prepareScene } from '#caller/scene.ts';
import { type RedisServer, startRedisServer } from '#test/fakes/redis-server.ts';
import { openWebhookReceiver, type WebhookReceiver } from '#test/fakes/webhook-receiver.ts';
import { freeTcpPort } from '#test/free-port.ts';
import { has, itNeeds } from '#test/needs.ts';
import { type ApiAnswer, type Product, startProduct } from './product.ts';
import { Program } from './program.ts';

const NEEDS = ['redis-server'];
const PORTS = { first: 42_800, last: 42_899 };
const ORIGIN = 'https://shop.example.com';
const RATE = 3;
const CREDIT_FOR = 10;
const ATTEMPTS = 40;
const CALLS = 4;
const MINUTE_MS = 60_000;

/** A second control plane on the product's store. */
interface Replica {
  readonly url: string;
  readonly program: Program;
}

let folder: string;
let redis: RedisServer;
let product: Product;
let second: Replica;
let tenant: WebhookReceiver;

beforeAll(async () => {
  if (!has(NEEDS)) return;
  folder = mkdtempSync(join(tmpdir(), 'parley-replicas-'));
  [redis, tenant] = await Promise.all([startRedisServer(), openWebhookReceiver()]);
  product = await startProduct({
    environment: { ...settings(), REDIS_URL: redis.tcpUrl, DRAIN_SECONDS: '0' },
  });
  second = await startReplica('second', { REDIS_URL: redis.tcpUrl });
}, 120_000);
afterAll(async () => {
  if (!has(NEEDS)) return;
  await second?.program.close();
  await product?.close();
  await tenant?.close();
  await redis?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('two control planes on one store', () => {
  itNeeds(NEEDS)(
    'do not start with a third that shares no Redis with them: it names the setting to fix',
    { timeout: 120_000 },
    async () => {
      await expect(startReplica('third', {})).rejects.toThrow('set the same REDIS_URL for every replica');
    },
  );

  itNeeds(NEEDS)(
    'are joined by a third whose Redis does not answer: it starts, serves requests and says so',
    { timeout: 120_000 },
    async () => {
      const third = await startReplica('without-redis', {
        REDIS_URL: `redis://127.0.0.1:${await freeTcpPort()}`,
      });
      try {
        const headers = { authorization: `Bearer ${product.rootKey}` };
        const { status } = await request({ url: third.url, headers }, 'GET', '/v1/agent/agents');
        expect(status).toBe(200);
        expect(third.program.output).toContain('REDIS_URL: Redis does not answer');
      } finally {
        await third.program.close();
      }
    },
  );

  itNeeds(NEEDS)('count public requests together', { timeout: 240_000 }, async () => {
    for (;;) {
      const agentId = await publish({}, { public_enabled: true, allowed_origins: [ORIGIN] });
      const minute = Math.floor(Date.now() / MINUTE_MS);
      const statuses: number[] = [];
      for (let attempt = 0; attempt <= RATE; attempt++) {
        const { url } = attempt % 2 === 0 ? product : second;
        statuses.push(
          await statusOf({ url, headers: { origin: ORIGIN } }, '/v1/agent/sessions', { agent_id: agentId }),
        );
      }
      // A new minute starts a new window.
      if (Math.floor(Date.now() / MINUTE_MS) !== minute) continue;
      expect(statuses).toEqual([...Array.from({ length: RATE }, () => 201), 429]);
      return;
    }
  });

  itNeeds(NEEDS)(
    `create exactly ${CREDIT_FOR} of ${ATTEMPTS} sessions requested at once through both, on credit for ${CREDIT_FOR}`,
    { timeout: 240_000 },
    async () => {
      const user = await product.ask('POST', '/admin/users', { name: 'Thrifty', credit: '0.60' });
      const headers = { authorization: `Bearer ${user.api_key}` };
      const there = { url: product.url, headers };
      const here = { url: second.url, headers };
      const { body } = await request(here, 'POST', '/v1/agent/agents', { name: 'Popular' });
      expect(await statusOf(there, `/v1/agent/agents/${body.agent_id}/publish`, {})).toBe(200);
      // The worker is connected to the first; sessions created through the second are dispatched through it.
      const answers = await Promise.all(
        Array.from({ length: ATTEMPTS }, async (_, index) =>
          request(index % 2 === 0 ? there : here, 'POST', '/v1/agent/sessions', { agent_id: body.agent_id }),
        ),
      );
      const count = (status: number) => answers.filter((answer) => answer.status === status).length;
      expect([count(201), count(402)]).toEqual([CREDIT_FOR, ATTEMPTS - CREDIT_FOR]);
      for (const { status, body: session } of answers) {
        if (status === 201)
          expect(await statusOf(here, `/v1/agent/sessions/${session.session_id}/end`, {})).toBe(204);
      }
      await product.until(
        'every charge is given back',
        async () => (await request(here, 'GET', '/wallet/self/api-credit')).body.credit === '0.60',
      );
      expect((await product.ask('GET', '/admin/wallets/verify')).flaws).toEqual([]);
    },
  );

  itNeeds(NEEDS)(
    'send the webhook of every call exactly once, even after one of them was killed',
    { timeout: 240_000 },
    async () => {
      const agentId = await publish({ webhooks: { post_call: [{ url: `${tenant.url}/hook` }] } });
      const number = '+15550100777';
      const here = { url: second.url, headers: { authorization: `Bearer ${product.rootKey}` } };
      expect(
        await statusOf(here, '/v1/agent/phone-numbers', {
          provider: 'managed',
          phone_number: number,
          agent_id: agentId,
        }),
      ).toBe(201);
      await callTimes(number, CALLS);
      const ended = () => tenant.received.filter(({ body }) => body.event === 'call.ended');
      const reported = () => new Set(ended().map(({ body }) => body.session.id)).size;
      await product.until('every call was reported', () => reported() === CALLS, 60_000);
      expect(new Set(ended().map(({ raw }) => raw.toString('utf8'))).size).toBe(CALLS);

      await second.program.close();
      await callTimes(number, 1);
      await product.until('the call after the kill was reported', () => reported() === CALLS + 1, 60_000);
      expect((await product.ask('GET', '/admin/wallets/verify')).flaws).toEqual([]);
    },
  );
});

function settings(): Record<string, string> {
  return {
    SESSION_JOIN_SECONDS: '600',
    LOG_LEVEL: 'warn',
    PUBLIC_RATE_PER_AGENT: String(RATE),
    PUBLIC_RATE_PER_IP: '1000',
    EGRESS_ALLOW: '127.0.0.1',
  };
}

/**
 * Starts `npm run start:control-plane` on the product's store, with its secrets. Rejects with its output if
 * it ends instead.
 */
async function startReplica(name: string, environment: Readonly<Record<string, string>>): Promise<Replica> {
  const dataDir = join(folder, name);
  mkdirSync(dataDir);
  copyFileSync(join(product.dataDir, 'credentials.json'), join(dataDir, 'credentials.json'));
  const socket = join(product.dataDir, 'database/database.sock');
  const program = new Program('control-plane', {
    HOST: '127.0.0.1',
    PORT: '0',
    DATA_DIR: dataDir,
    MONGODB_URL: `mongodb://${encodeURIComponent(socket)}/?directConnection=true`,
    BLOBS_URL: join(product.dataDir, 'blobs'),
    ...settings(),
    ...environment,
  });
  try {
    const [, port] = await program.printed(/^ready \{"port":(\d+)\}$/m);
    return { url: `http://127.0.0.1:${port}`, program };
  } catch (error) {
    await program.close();
    throw error;
  }
}

async function publish(
  config: Record<string, unknown>,
  profile: Record<string, unknown> = {},
): Promise<string> {
  const { agent_id: id } = await product.ask('POST', '/v1/agent/agents', {
    name: 'Shared',
    config: {
      prompt: { system_prompt: 'You answer.', first_message_mode: 'fixed', first_message: 'Hello.' },
      ...config,
    },
  });
  if (Object.keys(profile).length > 0) await product.ask('PATCH', `/v1/agent/agents/${id}`, profile);
  await product.ask('POST', `/v1/agent/agents/${id}/publish`);
  return id;
}

async function callTimes(number: string, times: number): Promise<void> {
  const scene = prepareScene({ name: 'short', steps: [{ do: 'pause', ms: 200 }] });
  const call = async () =>
    (await new PhoneCaller({ ports: PORTS }).call({ target: product.sipAddress(number), scene })).outcome
      .type;
  for (let calls = 0; calls < times; calls++) expect(await call()).toBe('answered');
}

/** Recipient and extra headers of a request. */
interface Client {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function statusOf(client: Client, path: string, body: unknown): Promise<number> {
  return (await request(client, 'POST', path, body)).status;
}

async function request(
  { url, headers }: Client,
  method: string,
  path: string,
  body?: unknown,
): Promise<ApiAnswer> {
  const sent =
    body === undefined
      ? { headers }
      : { headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch(`${url}${path}`, { method, ...sent });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}
