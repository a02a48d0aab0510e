/** Servers of owners that answer with too much, too little or something else. */
import { createServer, type ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { wavHeader } from '#media/speech/audio/wav.ts';
import { collect } from '#test/collect.ts';
import { listenLocally } from '#test/fakes/local-server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { buzz, Recording } from '../conformance.ts';
import { speak } from '../vendor-conformance.ts';
import { ownRecognizer, ownVoice } from './own-engines.ts';

const RATE = 8_000;
const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close();
});

type OnMessage = (socket: WebSocket, data: Buffer, isBinary: boolean) => void;

/** A server with one answer to every request, and one to every message of a socket. */
async function serve({
  answer = (response) => response.end(),
  onMessage = () => undefined,
}: {
  answer?: (response: ServerResponse) => void;
  onMessage?: OnMessage;
}) {
  const seen = { requests: 0, closed: 0 };
  const server = createServer((request, response) => {
    seen.requests++;
    response.on('close', () => seen.closed++);
    request.resume().on('end', () => answer(response));
  });
  new WebSocketServer({ server }).on('connection', (socket) => {
    seen.requests++;
    socket.on('error', () => undefined);
    socket.on('message', (data: Buffer, isBinary) => onMessage(socket, data, isBinary));
  });
  const { port, close } = await listenLocally(server);
  opened.push({ close });
  return { seen, http: `http://127.0.0.1:${port}/`, ws: `ws://127.0.0.1:${port}/` };
}

/** Writes the same piece as long as the request is open. */
function endless(response: ServerResponse, piece: Buffer): void {
  const more = () => {
    while (!response.destroyed && response.write(piece));
    if (!response.destroyed) response.once('drain', more);
  };
  more();
}

const audio = (type: string) => ({ 'content-type': type });
const PIECE = Buffer.alloc(32_000, 1);

describe('a hostile voice', () => {
  it.each([
    ['audio/l16;rate=16000', PIECE, '17400 ms of audio'],
    ['audio/wav', Buffer.concat([wavHeader(16_000), PIECE]), '17400 ms of audio'],
    ['audio/mpeg', PIECE, '2097152 bytes of MP3'],
  ])('endless %s ends at the limit, and so does the request', async (type, piece, limit) => {
    const { http: url, seen } = await serve({
      answer: (response) => endless(response.writeHead(200, audio(type)), piece),
    });
    await expect(collect(speak(ownVoice({ url }), 'Hello.'))).rejects.toMatchObject({
      category: 'unavailable',
      message: expect.stringContaining(`sent more than ${limit} for a text of 6 characters`),
    });
    await expect.poll(() => seen.closed).toBe(1);
  });

  it('audio that arrives sample by sample is passed on in pieces of 20 ms', async () => {
    const { http: url } = await serve({
      answer: async (response) => {
        response.writeHead(200, audio('audio/l16;rate=8000'));
        for (let sample = 0; sample < 400; sample++) {
          response.write(Buffer.of(sample % 100, 0));
          await new Promise((resolve) => setImmediate(resolve));
        }
        response.end();
      },
    });
    const chunks = await collect(speak(ownVoice({ url }), 'Hello.'));
    expect(chunks.flatMap(({ samples }) => [...samples])).toEqual(
      Array.from({ length: 400 }, (_, sample) => sample % 100),
    );
    expect(chunks.slice(0, -1).every(({ samples }) => samples.length >= 160)).toBe(true);
  });

  it('an endless tail of a WAV file is not read to its end', async () => {
    const { http: url, seen } = await serve({
      answer: (response) => {
        const file = Buffer.concat([wavHeader(16_000), Buffer.alloc(3_200)]);
        file.writeUInt32LE(3_200, 40);
        response.writeHead(200, audio('audio/wav')).write(file);
        endless(response, PIECE);
      },
    });
    const chunks = await collect(speak(ownVoice({ url }), 'Hello.'));
    expect(chunks.reduce((sum, { samples }) => sum + samples.length, 0)).toBe(1_600);
    await expect.poll(() => seen.closed).toBe(1);
  });

  it.each([
    ['text/html', '<html></html>', /sent “text\/html” instead of audio\/wav/],
    ['audio/ogg', 'OggS', /sent “audio\/ogg” instead/],
    ['audio/wav', '<html></html>', /something else than a WAV file/],
    ['audio/wav', `RIFF\0\0\0\0WAVE${'x'.repeat(9_000)}`, /without audio in its first 4096 bytes/],
    ['audio/l16;rate=47999', 'xx', /audio of 47999 Hz/],
    ['audio/l16;rate=8000;channels=9', 'xx', /audio of 9 channels/],
    ['audio/l16;rate=x', 'xx', /audio of NaN Hz/],
  ])('%s with another content is refused: %j', async (type, body, message) => {
    const { http: url } = await serve({
      answer: (response) => response.writeHead(200, audio(type)).end(body),
    });
    await expect(collect(speak(ownVoice({ url }), 'Hello.'))).rejects.toMatchObject({
      category: 'bad_request',
      message: expect.stringMatching(message),
    });
  });

  it('an MP3 that is none is refused', async () => {
    const { http: url } = await serve({
      answer: (response) => response.writeHead(200, audio('audio/mpeg')).end('no audio at all'),
    });
    await expect(collect(speak(ownVoice({ url }), 'Hello.'))).rejects.toMatchObject({
      category: 'unavailable',
      message: expect.stringContaining('an MP3 that cannot be played'),
    });
  });

  it.each(['headers', 'body'] as const)('silence before its %s is a stall', async (place) => {
    const { http: url, seen } = await serve({
      answer: (response) => {
        if (place === 'body') response.writeHead(200, audio('audio/l16;rate=8000')).write(PIECE);
      },
    });
    const clock = new ManualClock();
    let chunks = 0;
    const run = async () => {
      for await (const _ of speak(ownVoice({ url }, { clock }), 'Hello.')) chunks++;
    };
    const failed = run().catch((error: unknown) => error);
    await expect.poll(() => (place === 'headers' ? seen.requests : chunks)).toBeGreaterThan(0);
    await clock.advance(5_001);
    expect(await failed).toMatchObject({ category: 'stalled', retryable: true });
    expect(clock.pendingTimers).toBe(0);
  });

  it('an answer that trickles ends when its audio would have', async () => {
    const { http: url, seen } = await serve({
      answer: (response) => {
        response.writeHead(200, audio('audio/l16;rate=8000')).write(PIECE);
        const trickle = setInterval(() => response.write(Buffer.alloc(320)), 5);
        response.on('close', () => clearInterval(trickle));
      },
    });
    const clock = new ManualClock();
    let chunks = 0;
    const run = async () => {
      for await (const _ of speak(ownVoice({ url }, { clock }), 'Hello.')) chunks++;
    };
    const failed = run().catch((error: unknown) => error);
    for (let second = 0; second < 18; second++) {
      const before = chunks;
      await expect.poll(() => chunks).toBeGreaterThan(before);
      await clock.advance(1_000);
    }
    expect(await failed).toMatchObject({ category: 'stalled', message: expect.stringContaining('17400 ms') });
    await expect.poll(() => seen.closed).toBe(1);
  });

  it('a connection that breaks in mid-sentence fails after what was sent', async () => {
    const { http: url } = await serve({
      answer: (response) => {
        response.writeHead(200, audio('audio/l16;rate=8000')).write(PIECE);
        setTimeout(() => response.destroy(), 50);
      },
    });
    let samples = 0;
    const run = async () => {
      for await (const chunk of speak(ownVoice({ url }), 'Hello.')) samples += chunk.samples.length;
    };
    await expect(run()).rejects.toMatchObject({ category: 'connectivity', retryable: true });
    expect(samples).toBe(16_000);
  });

  it('an empty answer to a text is a failure, unless the text cannot be spoken', async () => {
    const { http: url } = await serve({
      answer: (response) => response.writeHead(200, audio('audio/wav')).end(),
    });
    await expect(collect(speak(ownVoice({ url }), 'Hello.'))).rejects.toThrow('sent no audio for a text');
    expect(await collect(speak(ownVoice({ url }), '…'))).toEqual([]);
  });

  it('a redirect is not followed', async () => {
    const { http: url, seen } = await serve({
      answer: (response) => response.writeHead(302, { location: '/other' }).end(),
    });
    await expect(collect(speak(ownVoice({ url }), 'Hello.'))).rejects.toMatchObject({
      category: 'bad_request',
      message: expect.stringContaining('HTTP 302'),
    });
    expect(seen.requests).toBe(1);
  });
});

describe('a hostile recogniser', () => {
  /** The failure of a stream whose server does this with each message. */
  async function failureOf(onMessage: OnMessage) {
    const { ws: url } = await serve({ onMessage });
    const heard = new Recording(ownRecognizer({ url }), RATE);
    heard.write(buzz(RATE, 600));
    await heard.until('failed');
    expect(heard.events.at(-1)?.type).toBe('failed');
    return heard.of('failed')[0];
  }
  const sends = (message: unknown) => (socket: WebSocket) => socket.send(JSON.stringify(message));
  const result = (transcript: string) => ({
    type: 'transcription',
    is_final: false,
    alternatives: [{ transcript }],
  });

  it.each([
    ['a giant frame', 'x'.repeat(100_000), /a message of more than 32768 bytes/],
    ['a transcription without text', { type: 'transcription', is_final: true }, /not in the protocol/],
    ['a text longer than any utterance', result('x'.repeat(5_001)), /not in the protocol/],
    ['something without a type', [1], /not in the protocol/],
    ['an error', { type: 'error', error: 'no licence' }, /reported an error: no licence/],
  ])('%s fails the stream', async (_name, message, expected) => {
    expect(await failureOf(sends(message))).toMatchObject({
      error: { category: 'unavailable', retryable: false, message: expect.stringMatching(expected) },
    });
  });

  it.each([
    ['results', 500, sends(result('word'))],
    ['binary messages', 500, (socket: WebSocket) => socket.send(Buffer.alloc(1))],
    ['bytes', 100, sends({ type: 'metadata', more: 'x'.repeat(30_000) })],
    ['pings', 500, (socket: WebSocket) => socket.ping()],
    ['pongs', 500, (socket: WebSocket) => socket.pong()],
  ])('a flood of %s fails the stream', async (_name, times, send) => {
    const flood = (socket: WebSocket, _data: Buffer, isBinary: boolean) => {
      if (isBinary) return;
      for (let count = 0; count < times; count++) send(socket);
    };
    expect(await failureOf(flood)).toMatchObject({
      error: { category: 'unavailable', message: expect.stringContaining('too many messages') },
    });
  });

  it('more words than a caller can say fail the stream', async () => {
    const talk = (socket: WebSocket) => {
      for (let count = 0; count < 3; count++) sends({ ...result('x'.repeat(4_000)), is_final: true })(socket);
    };
    expect(await failureOf(talk)).toMatchObject({
      error: {
        category: 'unavailable',
        message: expect.stringContaining('more words than a caller can say'),
      },
    });
  });

  it('results that wait for those of an older connection are limited', async () => {
    const sockets: WebSocket[] = [];
    const { ws: url } = await serve({
      onMessage: (socket, _data, isBinary) => {
        if (!sockets.includes(socket)) sockets.push(socket);
        if (!isBinary || socket === sockets[0]) return;
        for (let count = 0; count < 60; count++) sends({ ...result('word'), is_final: true })(socket);
      },
    });
    const heard = new Recording(ownRecognizer({ url }), RATE);
    heard.write(buzz(RATE, 600));
    heard.stream.finalise();
    heard.write(buzz(RATE, 600));
    await expect.poll(() => sockets[1]?.readyState).toBe(3);
    sockets[0]?.close(1000);
    await heard.until('failed');
    expect(heard.of('final')).toHaveLength(50);
    expect(heard.of('failed')[0]).toMatchObject({
      error: { category: 'unavailable', message: expect.stringContaining('too many results') },
    });
  });

  it('a redirect of the connection is not followed', async () => {
    let requests = 0;
    const server = createServer().on('upgrade', (_request, socket) => {
      requests++;
      socket.end('HTTP/1.1 302 Found\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n');
    });
    const { port, close } = await listenLocally(server);
    opened.push({ close });
    const heard = new Recording(ownRecognizer({ url: `ws://127.0.0.1:${port}/` }), RATE);
    await heard.until('failed');
    expect(heard.events).toMatchObject([{ error: { category: 'bad_request' } }]);
    expect(heard.of('failed')[0]).toMatchObject({
      error: { message: expect.stringContaining('HTTP 302') },
    });
    expect(requests).toBe(1);
  });

  it('messages of unknown types are ignored', async () => {
    const { ws: url } = await serve({
      onMessage: (socket, data) => {
        sends({ type: 'metadata' })(socket);
        if (String(data).includes('stop')) socket.close();
      },
    });
    const heard = new Recording(ownRecognizer({ url }), RATE);
    heard.write(buzz(RATE, 600));
    heard.stream.finalise();
    await heard.until('finalised');
    expect(heard.events).toEqual([{ type: 'finalised' }]);
    heard.stream.close();
  });

  it('a server that closes in mid-sentence fails the stream, which may be opened again', async () => {
    expect(await failureOf((socket, _data, isBinary) => void (isBinary && socket.close(1000)))).toMatchObject(
      { error: { category: 'connectivity', retryable: true } },
    );
  });

  it('words that were never final become so when the server closes after stop without a result', async () => {
    const { ws: url } = await serve({
      onMessage: (socket, data, isBinary) => {
        if (isBinary) sends(result('hello'))(socket);
        else if (String(data).includes('stop')) socket.close(1000);
      },
    });
    const heard = new Recording(ownRecognizer({ url }), RATE);
    heard.write(buzz(RATE, 100));
    heard.stream.finalise();
    await heard.until('finalised');
    expect(heard.events.slice(-2)).toMatchObject([{ type: 'final', text: 'hello' }, { type: 'finalised' }]);
    heard.stream.close();
  });

  it('a server that never closes after stop has 250 ms for more results after each', async () => {
    const { ws: url } = await serve({
      onMessage: (socket, data) => {
        if (String(data).includes('stop')) sends({ ...result('hello'), is_final: true })(socket);
      },
    });
    const clock = new ManualClock();
    const heard = new Recording(ownRecognizer({ url }, { clock }), RATE);
    heard.write(buzz(RATE, 600));
    heard.stream.finalise();
    await heard.until('final');
    expect(heard.of('finalised')).toEqual([]);
    await clock.advance(251);
    await heard.until('finalised');
    heard.stream.close();
  });
});

describe('an address that the egress guard refuses', () => {
  it('is never connected to, and the message says why', async () => {
    const { http, ws, seen } = await serve({});
    const named = (address: string) => address.replace('127.0.0.1', 'own.example.com');
    const reach = { allow: [], resolve: async () => ['127.0.0.1'] };
    for (const [url, address] of [
      [ws, http],
      [named(ws), named(http)],
    ] as const) {
      const refused = {
        category: 'bad_request',
        message: expect.stringContaining('may not be reached: The host is not a public address'),
      };
      const heard = new Recording(ownRecognizer({ url }, reach), RATE);
      await heard.until('failed');
      expect(heard.events).toMatchObject([{ type: 'failed', error: refused }]);
      await expect(collect(speak(ownVoice({ url: address }, reach), 'Hello.'))).rejects.toMatchObject(
        refused,
      );
      const posted = new Recording(ownRecognizer({ protocol: 'openai', url: address }, reach), RATE);
      posted.write(buzz(RATE, 600));
      posted.stream.finalise();
      await posted.until('failed');
      expect(posted.events).toMatchObject([{ type: 'failed', error: refused }]);
    }
    expect(seen.requests).toBe(0);
  });

  it('is checked again when the connection is opened, by the address that its name has then', async () => {
    const { ws, seen } = await serve({ onMessage: (socket) => socket.close() });
    const reach = { resolve: async () => ['127.0.0.1'] };
    const url = ws.replace('127.0.0.1', 'own.example.com');
    const heard = new Recording(ownRecognizer({ url }, reach), RATE);
    await heard.until('failed');
    expect(heard.events).toMatchObject([{ error: { category: 'connectivity' } }]);
    expect(seen.requests).toBe(1);
  });
});
