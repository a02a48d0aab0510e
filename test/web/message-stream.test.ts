/** A message on its way from the console to an agent, over connections that break. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { isOver, newMessage, sendMessage } from '../../web/console/src/text-sessions/message-stream.ts';

type Answer = (response: ServerResponse) => void;

const DONE = { items: [], session_status: 'active' };
const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const streams =
  (...events: string[]): Answer =>
  (response) =>
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.join(''));
const refuses =
  (status: number): Answer =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end('{"message": "no"}');

let server: Server;
let path: string;
/** The answers to the next requests, one each. */
let answers: Answer[];
let asked: IncomingMessage[];

beforeAll(async () => {
  for (const name of ['sessionStorage', 'localStorage']) vi.stubGlobal(name, { getItem: () => 'key' });
  server = createServer((request, response) => {
    asked.push(request);
    answers.shift()?.(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  path = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/agent/text-sessions/s-1`;
});
afterAll(() => {
  vi.unstubAllGlobals();
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  answers = [];
  asked = [];
});

const silent = { onText: () => undefined, onTool: () => undefined, onConnection: () => undefined };
const { signal } = new AbortController();

describe('a message that is sent from the console', () => {
  it('is repeated with its key when the connection breaks, and is told of no piece twice', async () => {
    let first: ServerResponse | undefined;
    answers = [
      (response) => {
        first = response.writeHead(200, { 'content-type': 'text/event-stream' });
        first.write(event('delta', { text: 'We open' }));
      },
      streams(event('delta', { text: 'We open at' }), event('done', DONE)),
    ];
    const message = newMessage('When do you open?');
    const told: unknown[] = [];
    const news = {
      ...silent,
      onText: (piece: string) => {
        told.push(piece);
        first?.destroy();
      },
      onConnection: (isConnected: boolean) => told.push(isConnected),
    };
    expect(await sendMessage(path, message, news, signal)).toEqual(DONE);
    expect(asked.map(({ headers }) => headers['idempotency-key'])).toEqual([message.key, message.key]);
    expect(told).toEqual([true, 'We open', false, true]);
  });

  it.each([
    ['was refused', refuses(402), true],
    ['has an answer that failed', streams(event('error', { status: 502, reason: 'text_turn_failed' })), true],
    ['met an error of the server', refuses(500), false],
    ['met one after it was accepted', streams(event('error', { status: 500, reason: null })), false],
  ])('that %s is sent again as another one only if the first is over', async (_, answer, over) => {
    answers = [answer];
    const error = await sendMessage(path, newMessage('Hello'), silent, signal).catch((why: unknown) => why);
    expect([error instanceof Error, isOver(error)]).toEqual([true, over]);
  });
});
