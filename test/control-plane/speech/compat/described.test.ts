import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { speak } from '#caller/spoken.ts';
import { toWav } from '#media/speech/audio/wav.ts';
import { type OpenaiServer, startOpenaiServer } from '../../../fakes/openai-server.ts';
import { describedRoutes, type Route } from '../../described-routes.ts';
import { openTestApi, type TestApi, type TestUser } from '../../test-api.ts';
import { postForm } from './compat-client.ts';

// Threads start and engines warm up, which takes time on a loaded machine.
vi.setConfig({ testTimeout: 180_000 });

const WAV = toWav(speak('A table for two, please.', { rateHz: 16_000, afterMs: 200 }).samples, 16_000);
let vendor: OpenaiServer;
let api: TestApi;
let user: TestUser;
let routes: Route[];
beforeAll(async () => {
  vendor = await startOpenaiServer({ transcripts: ['A table for two, please.'] });
  api = await openTestApi({ ASR_PROVIDER: 'openai', OPENAI_BASE_URL: vendor.url });
  user = await api.createUser();
  routes = (await describedRoutes(api)).filter(({ path }) => path.startsWith('/compat'));
});
afterAll(async () => {
  await api.close();
  await vendor.close();
});

/** Sends the example of a route's body, with a real recording for the described one. */
async function sendExample({ method, path, bodies }: Route) {
  const url = path.replace('{voice_id}', 'default');
  const [type, media] = [...bodies][0] ?? [];
  const example = media?.example as Record<string, unknown> | undefined;
  if (type === 'multipart/form-data')
    return postForm(api, url, {
      fields: { ...example, file: WAV },
      headers: { authorization: `Bearer ${user.key}` },
    });
  const response = await api.app.inject({
    method,
    url,
    headers: {
      authorization: `Bearer ${user.key}`,
      ...(example ? { 'content-type': 'application/json' } : {}),
    },
    ...(example ? { payload: JSON.stringify(example) } : {}),
  });
  return { status: response.statusCode, headers: response.headers, text: response.body };
}

/** The names in a value at any depth; lists are represented by their first item. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== 'object' || value === null) return null;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]));
}

describe('the description of the compatible surfaces', () => {
  it('has an example of every body, answer and refusal', () => {
    expect(routes.length).toBeGreaterThan(20);
    for (const { name, bodies, answers } of routes) {
      expect([name, [...answers.keys()].sort()]).toEqual([name, ['200', 'default']]);
      for (const { example } of [
        ...bodies.values(),
        ...[...answers.values()].flatMap((types) => [...types.values()]),
      ])
        expect(example ?? null, name).not.toBeNull();
    }
  });

  it('has examples that are accepted and answered in the described shape', async () => {
    // The general vendor's other paths lead to the same routes.
    for (const route of routes.filter(({ path }) => !/^\/compat\/(api|openai)\//.test(path))) {
      const { status, headers, text } = await sendExample(route);
      const type = String(headers['content-type']).replace('; charset=utf-8', '');
      const described = route.answers.get('200')?.get(type);
      expect([route.name, status, [...(route.answers.get('200')?.keys() ?? [])]]).toEqual([
        route.name,
        200,
        expect.arrayContaining([type]),
      ]);
      // The description of a stream shows its first event only.
      if (type === 'application/json')
        expect([route.name, shapeOf(JSON.parse(text.split('\n')[0] ?? ''))]).toEqual([
          route.name,
          shapeOf(described?.example),
        ]);
    }
  });

  it('has refusals in the shape in which they are sent', async () => {
    for (const { name, path, method, answers } of routes.filter(({ bodies }) => bodies.size > 0)) {
      const refused = await api.app.inject({
        method,
        url: path.replace('{voice_id}', 'default'),
        headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' },
        payload: '{}',
      });
      expect(refused.statusCode, name).toBeGreaterThanOrEqual(400);
      expect([name, shapeOf(refused.json())]).toEqual([
        name,
        shapeOf(answers.get('default')?.get('application/json')?.example),
      ]);
    }
  });
});
