import { afterAll, beforeAll, expect, it } from 'vitest';
import { limitSettings } from '#config/limit-settings.ts';
import { describedRoutes, type Route } from '#test/control-plane/described-routes.ts';
import { openTestApi, type TestApi, type TestUser } from '#test/control-plane/test-api.ts';
import { FakeDispatch } from '#test/fakes/fake-dispatch.ts';
import { MOST_GROWTH, repeated } from './growth.ts';
import { type TextField, textFieldsOf, withText } from './text-fields.ts';
import { HOSTILE_TOKENS } from './tokens.ts';

/** Speech routes: their text is split on a separate thread, and measured in speech-text.test.ts. */
const SPEAKS = /^POST (\/v1\/tts|\/compat\/.*(speech|text-to-speech|chat\/completions))/;
/** Less work than this, or any work on so short a text, cannot be measured. */
const NOTICEABLE_MS = 60;
const SHORT_CHARS = 256;
const ROUNDS = 8;
const FEWEST_FIELDS = 80;
/** Thousands of requests from one account are not an error here. */
const UNLIMITED = Object.fromEntries(
  Object.keys(limitSettings).map((name) => [name, name === 'LIMIT_TEST_SPENDING' ? '1000000.00' : 'none']),
);

let api: TestApi;
let user: TestUser;
let routes: Route[];
let ids: Readonly<Record<string, string>>;

beforeAll(async () => {
  api = await openTestApi(UNLIMITED, { dispatch: new FakeDispatch() });
  user = await api.createUser({ phone_number_limit: 100_000, credit: '100000.00' });
  const make = async (path: string, body: object) =>
    (await api.request('POST', `/v1/agent/${path}`, { key: user.key, body })).body;
  const { agent_id } = await make('agents', { name: 'a' });
  const { tool_id } = await make('tools', { name: 't', url: 'https://private.example.com' });
  const { phone_number_id } = await make('phone-numbers', {
    provider: 'sip',
    phone_number: '+15550109999',
    inbound_allowed_addresses: ['203.0.113.1'],
  });
  const simulation = { scenario: 's', success_conditions: [{ name: 'c', description: 'd' }] };
  const { test_id } = await make('tests', {
    name: 't',
    test_type: 'simulation',
    agent_ids: [agent_id],
    simulation,
  });
  ids = { agent_id, tool_id, phone_number_id, test_id, user_id: user.userId };
  routes = (await describedRoutes(api)).filter(
    ({ bodies, name }) => bodies.has('application/json') && !SPEAKS.test(name),
  );
}, 180_000);
afterAll(() => api.close());

/** Time for which this event loop was blocked, ms. */
async function work(
  route: Route,
  { path, longest }: TextField,
  { token, size = longest }: { token: string; size?: number },
): Promise<number> {
  const url = route.path.replace(/\{([a-z_]+)\}/g, (_, name) => ids[name] ?? 'missing');
  const body = withText(route.bodies.get('application/json')?.example, path, repeated(token, size));
  const key = route.access === 'operator' ? api.rootKey : user.key;
  const raw = Buffer.from(JSON.stringify(body));
  const before = performance.eventLoopUtilization();
  const { status } = await api.request(route.method, url, {
    key,
    raw,
    headers: { 'content-type': 'application/json' },
  });
  const { active } = performance.eventLoopUtilization(before);
  expect(status, `${route.name} ${path.join('.')}`).not.toBe(500);
  return active;
}

/**
 * Smallest measured growth from half the length to the full length, because other programs also use the
 * processor.
 */
async function growthOfWork(route: Route, field: TextField, token: string): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && least > MOST_GROWTH; round++) {
    const size = Math.floor(field.longest / 2);
    const half = Math.min(
      await work(route, field, { token, size }),
      await work(route, field, { token, size }),
    );
    const whole = Math.min(await work(route, field, { token }), await work(route, field, { token }));
    least = whole < NOTICEABLE_MS ? 0 : Math.min(least, whole / half);
  }
  return least;
}

/** Work that grows too fast, by route, field and token. */
async function faultsOf(route: Route, field: TextField): Promise<string[]> {
  const faults: string[] = [];
  for (const [name, token] of Object.entries(HOSTILE_TOKENS)) {
    if ((await work(route, field, { token })) < NOTICEABLE_MS) continue;
    const growth = await growthOfWork(route, field, token);
    if (growth > MOST_GROWTH)
      faults.push(`${route.name} ${field.path.join('.')} of ${name}: ${growth.toFixed(1)} times`);
  }
  return faults;
}

it('every text field of every body is processed in linear time', async () => {
  const fields = routes.flatMap((route) =>
    textFieldsOf(route.bodies.get('application/json')?.schema ?? {})
      .filter(({ longest }) => longest > SHORT_CHARS)
      .map((field) => ({ route, field })),
  );
  expect(fields.length).toBeGreaterThan(FEWEST_FIELDS);
  const faults: string[] = [];
  for (const { route, field } of fields) faults.push(...(await faultsOf(route, field)));
  expect(faults).toEqual([]);
}, 300_000);
