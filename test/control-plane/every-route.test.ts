import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describedRoutes, ENDLESS, encoded, type Route } from './described-routes.ts';
import { openTestApi, type TestApi, type TestUser } from './test-api.ts';

/** Routes that need beta access. */
const BETA = new Set([
  'POST /v1/agent/agent-suggestions',
  'POST /v1/agent/agents',
  'POST /v1/agent/agents/{agent_id}/preview-sessions',
  'POST /v1/agent/agents/{agent_id}/test-calls',
  'POST /v1/agent/agents/{agent_id}/test-calls/{session_id}/moves',
  'POST /v1/agent/agents/{agent_id}/test-calls/{session_id}/verdicts',
  'POST /v1/agent/agents/{agent_id}/rehearsals/estimate',
  'POST /v1/agent/agents/{agent_id}/tests/run',
  'POST /v1/agent/batch-calls',
  'POST /v1/agent/knowledge-sources',
  'POST /v1/agent/phone-calls',
  'POST /v1/agent/phone-numbers',
  'POST /v1/agent/phone-numbers/connect-stream',
  'POST /v1/agent/phone-numbers/connect-twilio',
  'POST /v1/agent/sessions',
  'POST /v1/agent/sip-phones',
  'POST /v1/agent/sip-registrations',
  'POST /v1/agent/text-sessions',
  'POST /v1/agent/tests',
  'POST /v1/agent/tool-servers',
  'POST /v1/agent/tools',
]);
/** Routes whose body is optional. */
const BODY_OR_NONE = new Set([
  'POST /v1/agent/agents/{agent_id}/preview-sessions',
  'POST /v1/agent/agents/{agent_id}/publish',
  'POST /v1/agent/agents/{agent_id}/test-calls',
  'POST /v1/agent/agents/{agent_id}/tests/run',
  'POST /v1/agent/sessions/{session_id}/participants',
]);
/** Routes authenticated without a key: by a session's token or a signed address. */
const OTHER_CREDENTIALS = new Set([
  'POST /v1/agent/sessions/{session_id}/webrtc',
  'POST /v1/agent/sessions/{session_id}/participants/{participant_id}/webrtc',
  'GET /v1/agent/sessions/{session_id}/recording/{file}',
]);
const BETA_REFUSAL = {
  status: 403,
  message: 'Agent platform is in private beta. Apply for access at http://127.0.0.1:8080/beta',
  reason: null,
};
const OPERATOR_REFUSAL = { status: 403, message: 'This route needs the operator key', reason: null };
const PLANTED = 'sk-planted-7c41';

let api: TestApi;
let user: TestUser;
let outsider: TestUser;
let routes: Route[];

beforeAll(async () => {
  api = await openTestApi();
  user = await api.createUser();
  outsider = await api.createUser({ beta_access: false });
  // The compatible surfaces refuse in the form of their protocols.
  routes = (await describedRoutes(api)).filter(({ path }) => !path.startsWith('/compat'));
});
afterAll(() => api.close());

/** A key that passes every check of the route. */
function goodKey(route: Route): string {
  return route.access === 'operator' ? api.rootKey : user.key;
}

const jsonRoutes = () =>
  routes.filter((route) => route.bodies.has('application/json') && route.access !== 'none');
const keyed = () => routes.filter((route) => route.access === 'key' || route.access === 'operator');

/** A JSON null is a value for these routes, not a missing body. */
function takesNull(route: Route): boolean {
  return !BODY_OR_NONE.has(route.name) && !route.bodies.has('multipart/form-data');
}

function hasQuery(route: Route, name: string): boolean {
  return route.parameters.some((parameter) => parameter.in === 'query' && parameter.name === name);
}

/** Sends the example of a route's body, or no body where it takes none. */
async function sendExample(route: Route) {
  const [body] = route.bodies;
  return api.request(route.method, route.url, {
    key: goodKey(route),
    ...(body ? await encoded(body[0], body[1].example as object) : {}),
  });
}

describe('"Order of checks" on every route', () => {
  it('finds the routes of the API', () => {
    expect(routes.length).toBeGreaterThan(80);
    expect(routes.map((route) => route.name)).toEqual(
      expect.arrayContaining([...BETA, ...BODY_OR_NONE, ...OTHER_CREDENTIALS]),
    );
  });

  it('a missing or malformed Authorization is a bare 401 before any other check', async () => {
    for (const route of keyed()) {
      for (const authorization of [undefined, 'Basic abc', 'Bearer ', 'Bearer a b', user.key]) {
        const headers = {
          'content-type': 'text/plain',
          ...(authorization === undefined ? {} : { authorization }),
        };
        const answer = await api.request(route.method, route.url, {
          headers,
          ...(route.method === 'GET' ? {} : { raw: '{' }),
        });
        expect([route.name, answer.status, answer.text, answer.headers['www-authenticate']]).toEqual([
          route.name,
          401,
          '',
          'Bearer',
        ]);
        expect(answer.headers['content-type']).toBeUndefined();
      }
    }
  });

  it('a bad or expired key is a 401 with the error body', async () => {
    const expires_at = new Date(api.clock.wallTime() + 1_000).toISOString();
    const expiring = (
      await api.request('POST', '/v1/keys', { key: user.key, body: { name: 'short', expires_at } })
    ).body.api_key;
    await api.clock.advance(1_000);
    for (const route of routes.filter(({ access }) => access !== 'none')) {
      for (const [key, message] of [
        ['pk_unknown', 'Invalid token'],
        [expiring, 'Token expired'],
      ] as const) {
        const answer = await api.request(route.method, route.url, {
          key,
          ...(route.method === 'GET' ? {} : { raw: '{' }),
        });
        expect([route.name, answer.status, answer.body]).toEqual([
          route.name,
          401,
          { status: 401, message, reason: null },
        ]);
      }
    }
  });

  it('an account without beta access gets a 403 on creation before body checks, and can use other routes', async () => {
    for (const route of routes.filter(
      ({ access, name }) => access !== 'none' && access !== 'operator' && name !== ENDLESS,
    )) {
      const answer = await api.request(route.method, route.url, {
        key: outsider.key,
        ...(route.method === 'GET' ? {} : { raw: '{' }),
      });
      if (BETA.has(route.name)) expect([route.name, answer.body]).toEqual([route.name, BETA_REFUSAL]);
      else expect([route.name, answer.status]).not.toEqual([route.name, 403]);
    }
  });

  it('operator routes are 403 for every other key before the body is checked', async () => {
    const operators = routes.filter(({ access }) => access === 'operator');
    expect(operators.length).toBeGreaterThanOrEqual(8);
    for (const route of operators) {
      const answer = await api.request(route.method, route.url, {
        key: user.key,
        ...(route.method === 'GET' ? {} : { raw: '{' }),
      });
      expect([route.name, answer.status, answer.body]).toEqual([route.name, 403, OPERATOR_REFUSAL]);
    }
  });

  it('a missing body or a wrong Content-Type is a bare 415, unless the body is optional', async () => {
    for (const route of routes.filter(({ bodies, access }) => bodies.size > 0 && access !== 'none')) {
      const wrong = { raw: 'x', headers: { 'content-type': 'text/plain' } };
      for (const request of [{}, { raw: '', headers: { 'content-type': 'application/json' } }, wrong]) {
        const isAbsent = request !== wrong;
        const answer = await api.request(route.method, route.url, { key: goodKey(route), ...request });
        const seen = [route.name, answer.status, answer.text, answer.headers['content-type']];
        if (isAbsent && BODY_OR_NONE.has(route.name)) expect(seen[1]).toBe(404);
        else {
          expect(seen).toEqual([route.name, 415, '', undefined]);
          const accepted = answer.headers['accept']?.split(', ') ?? [];
          expect([route.name, accepted]).toEqual([
            route.name,
            expect.arrayContaining([...route.bodies.keys()]),
          ]);
        }
      }
    }
  });

  it('"Bodies" an empty body is no body, whatever its content type', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '0' };
    const bodyless = routes.filter(
      ({ name }) => BODY_OR_NONE.has(name) || /^(POST .*\/(end|analysis)|DELETE .*)$/.test(name),
    );
    expect(bodyless.length).toBeGreaterThan(10);
    for (const route of bodyless) {
      const answer = await api.request(route.method, route.url, { key: goodKey(route), raw: '', headers });
      expect([route.name, answer.status]).toEqual([route.name, 404]);
    }
  });

  it('invalid JSON is a 400 with its message before fields and resources are checked', async () => {
    for (const route of jsonRoutes()) {
      for (const raw of ['{', '[1,', '{"name":"a",}', "{'name':1}", 'nonsense']) {
        const answer = await api.request(route.method, route.url, {
          key: goodKey(route),
          raw,
          headers: { 'content-type': 'application/json' },
        });
        expect([route.name, answer.body]).toEqual([
          route.name,
          { status: 400, message: 'Malformed JSON', reason: null },
        ]);
      }
    }
  });

  it('an unknown field is a 422 list before the resource lookup, without its value or an odd name', async () => {
    for (const route of jsonRoutes()) {
      const example = route.bodies.get('application/json')?.example as object;
      for (const body of [
        { ...example, surplus: PLANTED },
        { ...example, [`a ${PLANTED}`]: { deep: PLANTED } },
      ]) {
        const answer = await api.request(route.method, route.url, { key: goodKey(route), body });
        expect([route.name, answer.status]).toEqual([route.name, 422]);
        expect(answer.text).not.toContain(PLANTED);
        expect(answer.body).toEqual([
          expect.objectContaining({
            type: 'extra_forbidden',
            loc: ['body', expect.stringMatching(/^(surplus|\?)$/)],
            in: 'body',
          }),
        ]);
      }
    }
  });

  it('a body that is not an object is a 422 of the body', async () => {
    for (const route of jsonRoutes()) {
      for (const body of [[], 'text', 7, true, ...(takesNull(route) ? [null] : [])]) {
        const answer = await api.request(route.method, route.url, { key: goodKey(route), body });
        expect([route.name, JSON.stringify(body), answer.status]).toEqual([
          route.name,
          JSON.stringify(body),
          422,
        ]);
        for (const entry of answer.body) expect(entry.loc[0]).toBe('body');
      }
    }
  });

  it('an unknown or ill-typed query field is a 422 of the query', async () => {
    for (const route of routes.filter((route) => hasQuery(route, 'page_size') && !route.path.includes('{'))) {
      for (const query of ['page_size=0', 'page_size=101', 'page_size=many', 'surplus=1']) {
        const answer = await api.request('GET', `${route.url}?${query}`, { key: goodKey(route) });
        expect([route.name, query, answer.status]).toEqual([route.name, query, 422]);
        expect(answer.body[0]).toMatchObject({ loc: ['query', query.split('=')[0]], in: 'query' });
      }
    }
  });

  it('missing resources are 404, always with the same body', async () => {
    let counted = 0;
    for (const route of routes.filter(({ path, access }) => path.includes('{') && access !== 'none')) {
      const answer = await sendExample(route);
      expect([route.name, answer.body]).toEqual([
        route.name,
        { status: 404, message: 'Not found', reason: null },
      ]);
      counted++;
    }
    expect(counted).toBeGreaterThan(30);
  });

  it('every list rejects page with cursor, an invalid cursor and a page beyond 100000 rows', async () => {
    const lists = routes.filter((route) => hasQuery(route, 'cursor') && !route.path.includes('{'));
    expect(lists.length).toBeGreaterThanOrEqual(8);
    for (const { url, name } of lists) {
      for (const [query, message] of [
        ['page=1&cursor=abc', 'Use either page or cursor, not both'],
        ['cursor=abc', 'Cursor cannot be decoded'],
        ['page=1002&page_size=100', 'Page offset beyond 100000 rows; use cursor'],
      ]) {
        const answer = await api.request('GET', `${url}?${query}`, { key: user.key });
        expect([name, query, answer.body]).toEqual([name, query, { status: 400, message, reason: null }]);
      }
      const deepest = await api.request('GET', `${url}?page=1001&page_size=100`, { key: user.key });
      expect([name, deepest.status, deepest.body.total]).toEqual([name, 200, expect.any(Number)]);
    }
  });
});
