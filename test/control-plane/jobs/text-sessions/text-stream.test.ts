import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { relayTurnEvents } from '#control-plane/jobs/text-sessions/text-turn-news.ts';
import { answer, openTextSessions, type TextSessions } from './open-text-sessions.ts';

let api: TextSessions;
let base = '';
beforeEach(async () => {
  api = await openTextSessions();
  await api.app.listen({ host: '127.0.0.1', port: 0 });
  base = `127.0.0.1:${(api.app.server.address() as AddressInfo).port}`;
});
afterEach(() => api.close());

/** The worker writes a piece, as it arrives over the worker link. */
function writes(text: string): void {
  const { key } = api.dispatch.textTurns.at(-1) ?? { key: { sessionId: '' } };
  relayTurnEvents(api.context)(key.sessionId, { type: 'text_delta', text });
}

async function stream(id: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`http://${base}/v1/agent/text-sessions/${id}/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${api.user.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

/** The events of a stream: their names with their data. */
function eventsIn(text: string) {
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('event: '))
    .map((event) => {
      const [name = '', data = ''] = event.split('\n');
      return [name.slice('event: '.length), JSON.parse(data.slice('data: '.length))];
    });
}

describe('an answer as a stream', () => {
  it.each([
    ['stream: true', { stream: true }, {}],
    ['its Accept header', {}, { accept: 'text/event-stream' }],
  ])(
    'comes in pieces while the agent writes, then as a whole, if asked for by %s',
    async (_, body, headers) => {
      const id = await api.create();
      const asked = stream(id, { content: 'Hello?', ...body }, headers);
      await api.placed(1);
      expect(api.dispatch.textTurns[0]?.job.is_streamed).toBe(true);
      const response = await asked;
      expect(response.headers.get('content-type')).toBe('text/event-stream');
      writes('Good ');
      writes('day!');
      await api.finish(answer('Good day!'));
      const events = eventsIn(await response.text());
      expect(events.map(([name]) => name)).toEqual(['delta', 'delta', 'done']);
      expect(events.slice(0, 2).map(([, data]) => data.text)).toEqual(['Good ', 'day!']);
      expect(events[2]?.[1]).toMatchObject({ reply: 'Good day!', session_status: 'active' });
    },
  );

  it('that fails ends with an error event', async () => {
    const id = await api.create();
    const asked = stream(id, { content: 'Hello?', stream: true });
    await api.placed(1);
    await api.finish(answer('', { error: 'no model', items: [] }));
    const events = eventsIn(await (await asked).text());
    expect(events).toEqual([['error', expect.objectContaining({ status: 502, reason: 'text_turn_failed' })]]);
  });

  it('is not waited for by a process that stops: the client asks again with its key', async () => {
    const response = stream(await api.create(), { content: 'Hello?', stream: true });
    await api.placed(1);
    await response;
    await api.app.close();
    expect(eventsIn(await (await response).text())).toMatchObject([['error', { status: 503 }]]);
  });

  it('a refusal before the stream is an ordinary error', async () => {
    const id = await api.create();
    await api.request('POST', `/v1/agent/text-sessions/${id}/end`, { key: api.user.key });
    const refused = await stream(id, { content: 'Hello?', stream: true });
    expect(refused.status).toBe(409);
  });

  it('a client that went away finds the answer with its key', async () => {
    const id = await api.create();
    const gone = new AbortController();
    const asked = fetch(`http://${base}/v1/agent/text-sessions/${id}/messages`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${api.user.key}`,
        'content-type': 'application/json',
        'idempotency-key': 'k',
      },
      body: JSON.stringify({ content: 'Hello?', stream: true }),
      signal: gone.signal,
    }).catch(() => null);
    await api.placed(1);
    gone.abort();
    await asked;
    await api.finish(answer('Good day!'));
    expect((await api.send(id, 'Hello?', 'k')).body.reply).toBe('Good day!');
  });
});

/** A client of the WebSocket. */
class Client {
  readonly socket: WebSocket;
  // biome-ignore lint/suspicious/noExplicitAny: events of the wire
  readonly events: any[] = [];
  #wake: () => void = () => undefined;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data) => {
      this.events.push(JSON.parse(String(data)));
      this.#wake();
    });
  }

  static async open(id: string, key = api.user.key): Promise<Client> {
    const url = `ws://${base}/v1/agent/text-sessions/${id}/ws`;
    const client = new Client(new WebSocket(url, { headers: { authorization: `Bearer ${key}` } }));
    await once(client.socket, 'open');
    return client;
  }

  say(frame: unknown): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  async has(count: number): Promise<void> {
    while (this.events.length < count)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
  }
}

describe('a text session over a WebSocket', () => {
  it('answers messages in their order, in pieces and then whole', async () => {
    const client = await Client.open(await api.create());
    client.say({ type: 'message', content: 'One', key: 'k1' });
    client.say({ type: 'message', content: 'Two', key: 'k2' });
    await client.has(2);
    expect(client.events.map(({ type, key }) => [type, key])).toEqual([
      ['accepted', 'k1'],
      ['accepted', 'k2'],
    ]);
    await api.placed(1);
    writes('First');
    await client.has(3);
    await api.finish(answer('First'));
    await api.placed(2);
    await api.finish(answer('Second'));
    await client.has(5);
    expect(client.events.slice(2)).toMatchObject([
      { type: 'delta', key: 'k1', text: 'First' },
      { type: 'done', key: 'k1', reply: 'First' },
      { type: 'done', key: 'k2', reply: 'Second' },
    ]);
    client.socket.close();
  });

  it('is closed when the agent ends the conversation, and when the client does', async () => {
    const client = await Client.open(await api.create());
    client.say({ type: 'message', content: 'Bye' });
    await api.placed(1);
    const closed = once(client.socket, 'close');
    await api.finish(answer('Goodbye!', { has_ended: true }));
    expect((await closed)[0]).toBe(1000);
    expect(client.events.at(-1)).toMatchObject({ type: 'done', session_status: 'ended' });
    const other = await Client.open(await api.create());
    const ended = once(other.socket, 'close');
    other.say({ type: 'end' });
    expect((await ended)[0]).toBe(1000);
  });

  it.each([
    ['no JSON', 'hello'],
    ['an unknown type', { type: 'sing' }],
    ['an unknown field', { type: 'message', content: 'x', voice: 1 }],
  ])('answers %s with an error and goes on', async (_, frame) => {
    const client = await Client.open(await api.create());
    client.say(frame);
    await client.has(1);
    expect(client.events[0]).toMatchObject({ type: 'error', status: 400 });
    client.socket.close();
  });

  it('refuses another team’s key with 404, and no key with 401', async () => {
    const id = await api.create();
    const url = `ws://${base}/v1/agent/text-sessions/${id}/ws`;
    const stranger = await api.createUser();
    const statusOf = async (headers: Record<string, string>) => {
      const socket = new WebSocket(url, { headers });
      const [, response] = await once(socket, 'unexpected-response');
      return response.statusCode;
    };
    expect(await statusOf({ authorization: `Bearer ${stranger.key}` })).toBe(404);
    expect(await statusOf({})).toBe(401);
  });
});
