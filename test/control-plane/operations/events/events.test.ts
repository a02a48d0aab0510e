import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const WAIT = { timeout: 10_000 };

let api: TestCalls;
let user: TestUser;
let url: string;

beforeAll(async () => {
  api = await openTestCalls();
  user = await api.createUser();
  await api.app.listen({ host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${(api.app.server.address() as AddressInfo).port}`;
});
afterAll(() => api.close());

/** An open event stream: the text received so far, and its end. */
interface Listener {
  readonly text: () => string;
  readonly ended: Promise<void>;
  close(): void;
}

async function listen(key: string): Promise<Listener> {
  const abort = new AbortController();
  const response = await fetch(`${url}/v1/agent/events`, {
    headers: { authorization: `Bearer ${key}` },
    signal: abort.signal,
  });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  let text = '';
  const ended = (async () => {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk as Uint8Array).toString();
  })().catch(() => undefined);
  await vi.waitFor(() => expect(text).toContain('event: ready'), WAIT);
  return { text: () => text, ended, close: () => abort.abort() };
}

async function joinedCall(agentId: string): Promise<string> {
  const { body } = await api.request('POST', '/v1/agent/sessions', {
    key: user.key,
    body: { agent_id: agentId },
  });
  await api.report(body.session_id, { type: 'joined', at: api.at() });
  return body.session_id;
}

/** Lets time pass, then returns the rows received so far. */
async function changesOf(listener: Listener): Promise<{ session_id: string; status: string }[]> {
  await api.clock.advance(250);
  return [...listener.text().matchAll(/event: session\ndata: (.*)\n\n/g)].map(([, data]) =>
    JSON.parse(data ?? '{}'),
  );
}

describe('GET /v1/agent/events', () => {
  it('sends a call’s changes, in the form of list rows, to its own team only', async () => {
    const agentId = await api.publishAgent(user);
    const otherUser = await api.createUser();
    const [own, foreign] = await Promise.all([listen(user.key), listen(otherUser.key)]);
    const id = await joinedCall(agentId);
    await vi.waitFor(
      async () =>
        expect(await changesOf(own)).toContainEqual(
          expect.objectContaining({ session_id: id, status: 'active' }),
        ),
      WAIT,
    );
    await api.report(id, { type: 'ended', at: api.at(), end_reason: 'agent_hangup' });
    await vi.waitFor(
      async () =>
        expect((await changesOf(own)).at(-1)).toMatchObject({ session_id: id, status: 'completed' }),
      WAIT,
    );
    const { body } = await api.request('GET', '/v1/agent/sessions', { key: user.key });
    expect((await changesOf(own)).at(-1)).toEqual(body.sessions[0]);
    expect(await changesOf(foreign)).toEqual([]);
    for (const listener of [own, foreign]) listener.close();
  });

  it('needs a key', async () => {
    expect((await fetch(`${url}/v1/agent/events`)).status).toBe(401);
  });

  it('keeps idle streams alive, and ends them after ten minutes', async () => {
    const listener = await listen(user.key);
    await api.clock.advance(15_000);
    await vi.waitFor(() => expect(listener.text()).toContain(': here'), WAIT);
    await api.clock.advance(600_000);
    await listener.ended;
  });

  it('ends before the server closes, to avoid blocking the close', async () => {
    const listener = await listen(user.key);
    await api.app.close();
    await listener.ended;
  });
});
