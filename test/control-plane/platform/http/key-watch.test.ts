import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import WebSocket from 'ws';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

const WAIT = { timeout: 10_000 };

let api: TestCalls;
/** Another process with the same database. */
let other: TestCalls;
let user: TestUser;
beforeEach(async () => {
  api = await openTestCalls();
  const { database, models, credentials } = api.context;
  const stored = { database: database as never, models, close: async () => undefined };
  other = await openTestCalls({}, { credentials, clock: api.clock }, stored);
  for (const { app } of [api, other]) await app.listen({ host: '127.0.0.1', port: 0 });
  user = await api.createUser();
});
afterEach(async () => {
  await other.close();
  await api.close();
});

const addressOf = ({ app }: TestCalls) => `127.0.0.1:${(app.server.address() as AddressInfo).port}`;

async function newKey(fields: object = {}): Promise<{ id: string; key: string }> {
  const { body } = await api.request('POST', '/v1/keys', { key: user.key, body: { name: 'x', ...fields } });
  return { id: body.key_id, key: body.api_key };
}
const revoke = (id: string) => api.request('DELETE', `/v1/keys/${id}`, { key: user.key });

async function textPath(): Promise<string> {
  const agent_id = await api.publishAgent(user);
  const { body } = await api.request('POST', '/v1/agent/text-sessions', {
    key: user.key,
    body: { agent_id },
  });
  return `/v1/agent/text-sessions/${body.text_session_id}/ws`;
}

async function connect(path: string, key: string, replica = api): Promise<WebSocket> {
  const socket = new WebSocket(`ws://${addressOf(replica)}${path}`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await once(socket, 'open');
  return socket;
}

/** How a connection closes within five seconds; the clock goes on while a check waits for the database. */
async function closing(socket: WebSocket) {
  let closed: { code: number; reason: string } | undefined;
  socket.once('close', (code, reason) => {
    closed = { code, reason: String(reason) };
  });
  await api.clock.advance(5_000);
  await vi.waitFor(() => expect(closed).toBeDefined(), WAIT);
  return closed;
}
const KEY_ENDED = { code: 1008, reason: 'The API key was deleted or has expired' };

describe('a WebSocket whose key is deleted', () => {
  it.each([
    ['of a text session', textPath],
    ['of live synthesis', async () => '/v1/tts/live'],
    ['of a compatible API', async () => '/compat/v1/realtime?model=parley/s2.1-pro'],
  ])('is closed within seconds if it is one %s', async (_, pathOf) => {
    const { id, key } = await newKey();
    const socket = await connect(await pathOf(), key);
    await revoke(id);
    expect(await closing(socket)).toEqual(KEY_ENDED);
  });

  it('is closed by the replica that serves it when another one has deleted the key', async () => {
    const { id, key } = await newKey();
    const socket = await connect(await textPath(), key, other);
    await revoke(id);
    expect(await closing(socket)).toEqual(KEY_ENDED);
  });

  it('has no further message taken, and is cut off if the client does not close it', async () => {
    const { id, key } = await newKey();
    const path = await textPath();
    const [socket, honest] = [await connect(path, key), await connect(path, key)];
    const entitled = await connect(path, user.key);
    await revoke(id);
    // A client that reads nothing does not see the close frame.
    socket.pause();
    const isOver = once(honest, 'close');
    await api.clock.advance(3_000);
    await isOver;
    socket.send(JSON.stringify({ type: 'message', content: 'Hello?', key: 'refused' }));
    // Messages that are sent later and accepted: by then the first one would have been.
    for (const later of ['k1', 'k2', 'k3']) {
      entitled.send(JSON.stringify({ type: 'message', content: 'Hello?', key: later }));
      await once(entitled, 'message');
    }
    const isCut = once(socket, 'close');
    await api.clock.advance(2_000);
    socket.resume();
    await isCut;
    entitled.terminate();
    const turns = await api.context.models.textTurns.find({}).sort({ number: 1 }).lean();
    expect(turns.map((turn) => turn.key)).toEqual(['k1', 'k2', 'k3']);
  });
});

describe('a long connection', () => {
  it('is closed when its key expires', async () => {
    const expires_at = new Date(api.clock.wallTime() + 60_000).toISOString();
    const { key } = await newKey({ expires_at });
    const socket = await connect(await textPath(), key);
    await api.clock.advance(57_000);
    expect(socket.readyState).toBe(WebSocket.OPEN);
    expect(await closing(socket)).toEqual(KEY_ENDED);
  });

  it('is closed when its key expires while a check waits for a database that hangs', async () => {
    const expires_at = new Date(api.clock.wallTime() + 60_000).toISOString();
    const { key } = await newKey({ expires_at });
    const path = await textPath();
    const [expiring, kept] = [await connect(path, key), await connect(path, user.key)];
    const hung = { lean: () => new Promise(() => undefined) };
    vi.spyOn(api.context.models.keys, 'find').mockReturnValue(hung as never);
    await api.clock.advance(57_000);
    expect(expiring.readyState).toBe(WebSocket.OPEN);
    expect(await closing(expiring)).toEqual(KEY_ENDED);
    expect(kept.readyState).toBe(WebSocket.OPEN);
    kept.close();
  });

  it('stays open when another key of the account is deleted', async () => {
    const [{ key }, deleted] = [await newKey(), await newKey()];
    const path = await textPath();
    const [kept, gone] = [await connect(path, key), await connect(path, deleted.key)];
    await revoke(deleted.id);
    await closing(gone);
    expect(kept.readyState).toBe(WebSocket.OPEN);
    kept.close();
  });

  it('costs no read of its own: the connections of a key are checked together', async () => {
    const { key } = await newKey();
    const path = await textPath();
    const sockets = await Promise.all(Array.from({ length: 5 }, () => connect(path, key)));
    const reads = vi.spyOn(api.context.models.keys, 'find');
    await api.clock.advance(3_000);
    expect(reads).toHaveBeenCalledTimes(1);
    for (const socket of sockets) socket.close();
  });

  it('that has closed costs none', async () => {
    const { key } = await newKey();
    const path = await textPath();
    const sockets = [await connect(path, key), await connect(path, key)];
    const reads = vi.spyOn(api.context.models.keys, 'find');
    for (const socket of sockets) socket.close();
    await Promise.all(sockets.map((socket) => once(socket, 'close')));
    await vi.waitFor(async () => {
      reads.mockClear();
      await api.clock.advance(3_000);
      expect(reads).not.toHaveBeenCalled();
    }, WAIT);
  });

  it('stays open while the database cannot be read', async () => {
    const { id, key } = await newKey();
    const socket = await connect(await textPath(), key);
    const reads = vi.spyOn(api.context.models.keys, 'find');
    reads.mockImplementationOnce(() => {
      throw new Error('no database');
    });
    await api.clock.advance(3_000);
    expect(socket.readyState).toBe(WebSocket.OPEN);
    await revoke(id);
    expect(await closing(socket)).toEqual(KEY_ENDED);
  });
});

describe('the stream of session changes', () => {
  it('of a client that left while its key was checked costs none', async () => {
    const { key } = await newKey();
    const leaving = new AbortController();
    const { promise: isRead, resolve: read } = Promise.withResolvers<void>();
    const reading = vi.spyOn(api.context.caches, 'keys').mockImplementationOnce(async (_, readKey) => {
      const found = await readKey();
      leaving.abort();
      await isRead;
      return found as never;
    });
    const gone = new Promise<void>((resolve) =>
      api.app.server.once('request', (request) => request.socket.once('close', () => resolve())),
    );
    const opening = fetch(`http://${addressOf(api)}/v1/agent/events`, {
      headers: { authorization: `Bearer ${key}` },
      signal: leaving.signal,
    });
    await expect(opening).rejects.toThrow();
    await gone;
    read();
    await reading.mock.results[0]?.value;
    const reads = vi.spyOn(api.context.models.keys, 'find');
    await api.clock.advance(6_000);
    expect(reads).not.toHaveBeenCalled();
  });

  it('ends when its key is deleted', async () => {
    const { id, key } = await newKey();
    const response = await fetch(`http://${addressOf(api)}/v1/agent/events`, {
      headers: { authorization: `Bearer ${key}` },
    });
    await revoke(id);
    const whole = response.text();
    await api.clock.advance(5_000);
    expect(await whole).toContain('event: ready');
  });
});
