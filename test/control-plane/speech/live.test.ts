import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { decode, encode } from '@msgpack/msgpack';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import WebSocket from 'ws';
import { systemClock } from '#base/clock.ts';
import { LiveText } from '#control-plane/speech/requests/live-text.ts';
import { admit } from '#control-plane/speech/requests/speech-service.ts';
import type { SpeechSlot } from '#media/speech/pool/speech-thread.ts';
import { openTestApi, type TestApi, type TestUser } from '../test-api.ts';

// Threads start, engines warm up and programs run, which takes time on a loaded machine.
vi.setConfig({ testTimeout: 180_000 });

let api: TestApi;
let user: TestUser;
let base = '';
beforeAll(async () => {
  api = await openTestApi();
  user = await api.createUser();
  await api.app.listen({ host: '127.0.0.1', port: 0 });
  base = `127.0.0.1:${(api.app.server.address() as AddressInfo).port}`;
});
afterAll(() => api.close());

// biome-ignore lint/suspicious/noExplicitAny: events of the wire
type Heard = any;

/** A client of live synthesis. */
class Client {
  readonly socket: WebSocket;
  readonly events: Heard[] = [];
  #wake: () => void = () => {};

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data: Buffer) => {
      this.events.push(decode(data));
      this.#wake();
    });
    socket.on('close', () => this.#wake());
  }

  static async open(path = '/v1/tts/live'): Promise<Client> {
    const client = new Client(
      new WebSocket(`ws://${base}${path}`, { headers: { authorization: `Bearer ${user.key}` } }),
    );
    await once(client.socket, 'open');
    return client;
  }

  send(...messages: object[]): void {
    for (const message of messages) this.socket.send(encode(message));
  }

  async until(met: (event: Heard) => boolean): Promise<Heard> {
    for (;;) {
      const found = this.events.find(met);
      if (found) return found;
      if (this.socket.readyState === WebSocket.CLOSED) throw new Error('closed');
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  get audio(): Buffer {
    return Buffer.concat(
      this.events.filter(({ event }) => event === 'audio').map(({ audio }) => Buffer.from(audio)),
    );
  }
}

/** Starts speech and waits for its first audio; more text may follow. */
async function beginToSpeak(client: Client): Promise<void> {
  client.send(start(), text('Yes. '), { event: 'flush' });
  await client.until(({ event }) => event === 'audio');
}

/** The number of further requests the account may have in progress. */
async function placesOf(caller: TestUser): Promise<number> {
  const slots: SpeechSlot[] = [];
  for (;;) {
    const slot = await admit(api.context, caller, 'synthesis').catch(() => null);
    if (!slot) break;
    slots.push(slot);
  }
  for (const slot of slots) slot.release();
  return slots.length;
}

const start = (request: object = {}) => ({
  event: 'start',
  request: { text: '', format: 'pcm', sample_rate: 16_000, ...request },
});
const text = (words: string) => ({ event: 'text', text: words });

describe('live synthesis', () => {
  it('speaks text word by word, like a single request with all of it', async () => {
    const client = await Client.open();
    client.send(start(), ...'Good morning to you. How can I help? '.match(/\S+\s/g)!.map(text), {
      event: 'stop',
    });
    const [code] = await once(client.socket, 'close');
    expect(client.events.at(-1)).toEqual({ event: 'finish', reason: 'stop' });
    expect(code).toBe(1000);
    const { text: whole } = await api.request('POST', '/v1/tts/stream/with-timestamp', {
      key: user.key,
      body: { text: 'Good morning to you. How can I help?', format: 'pcm', sample_rate: 16_000 },
    });
    const bytes = whole
      .split('\n\n')
      .filter(Boolean)
      .reduce(
        (sum, event) =>
          sum + Buffer.from(JSON.parse(event.slice(event.indexOf('{'))).audio_base64, 'base64').length,
        0,
      );
    // Sentences synthesised separately may differ in their pauses.
    expect(Math.abs(client.audio.length - bytes) / 32_000).toBeLessThan(0.4);
  });

  it('speaks the text so far on a flush, before the text ends', async () => {
    const client = await Client.open();
    client.send(start(), text('Hello there'), { event: 'flush' });
    const first = await client.until(({ event }) => event === 'audio');
    expect(first.audio.length).toBeGreaterThan(1_000);
    client.send(text(' and goodbye'), { event: 'stop' });
    await once(client.socket, 'close');
    expect(client.events.at(-1).reason).toBe('stop');
  });

  it('sends words and offsets with timestamps, and allows another start on the same socket', async () => {
    const client = await Client.open('/v1/tts/live/with-timestamp');
    for (const words of ['The first one.', 'The second one.']) {
      client.events.length = 0;
      client.send(start(), text(words), { event: 'stop' });
      await client.until(({ event }) => event === 'finish');
      const last = client.events.findLast(({ alignment }) => alignment);
      expect(last.alignment.segments.map((word: { text: string }) => word.text).join(' ')).toMatch(
        /^The (first|second) one/,
      );
      expect(last).toMatchObject({ chunk_seq: 0, chunk_audio_offset_sec: 0 });
    }
    client.socket.close();
  });

  it.each([
    ['text before start', [text('a')]],
    ['a second start', [start(), start()]],
    ['an unknown voice', [start({ reference_id: 'f'.repeat(32) })]],
    ['a field out of range', [start({ temperature: 7 })]],
    ['an unknown event', [{ event: 'sing' }]],
  ])('%s ends in finish with reason error and says why', async (_, messages) => {
    const client = await Client.open();
    client.send(...messages);
    await once(client.socket, 'close');
    expect(client.events.at(-1)).toMatchObject({
      event: 'finish',
      reason: 'error',
      status: 400,
      message: expect.any(String),
    });
  });

  it('ends likewise on bytes that are not MessagePack', async () => {
    const client = await Client.open();
    client.socket.send(Buffer.from([0xc1, 0xff]));
    await once(client.socket, 'close');
    expect(client.events).toEqual([
      { event: 'finish', reason: 'error', status: 400, message: 'Malformed MessagePack' },
    ]);
  });

  it('refuses an upgrade without a key, with a bad key, and beyond the limit', async () => {
    const refused = async (headers: Record<string, string>) => {
      const [, response] = await once(
        new WebSocket(`ws://${base}/v1/tts/live`, { headers }),
        'unexpected-response',
      );
      return [
        response.statusCode,
        response.headers['retry-after'] ?? response.headers['www-authenticate'] ?? null,
      ];
    };
    expect(await refused({})).toEqual([401, 'Bearer']);
    expect(await refused({ authorization: 'Bearer nope' })).toEqual([401, null]);
    const open = await Promise.all(Array.from({ length: 5 }, () => Client.open()));
    await Promise.all(open.map(beginToSpeak));
    expect(await refused({ authorization: `Bearer ${user.key}` })).toEqual([429, '1']);
    for (const { socket } of open) socket.terminate();
    await expect.poll(() => placesOf(user), { timeout: 60_000 }).toBe(5);
  });

  it('needs no place while its socket is idle: it takes one at start, or is rejected', async () => {
    const idle = await Promise.all(
      Array.from({ length: 7 }, () => Client.open('/v1/tts/live/with-timestamp')),
    );
    expect(await placesOf(user)).toBe(5);
    const [last, ...others] = idle;
    await Promise.all(others.slice(0, 5).map(beginToSpeak));
    expect(await placesOf(user)).toBe(0);
    const closed = once(last!.socket, 'close');
    last?.send(start(), text('Too late. '));
    // The refusal matches that of an upgrade: 429 and the retry time, in the event and in the close code.
    expect(await last!.until(({ event }) => event === 'finish')).toEqual({
      event: 'finish',
      reason: 'error',
      status: 429,
      retry_after: 1,
      message: expect.stringMatching(/^All 5 concurrent speech requests of this account are in use/),
    });
    expect((await closed)[0]).toBe(1013);
    // A finished speech frees its place, though its socket stays open.
    others[0]?.send({ event: 'stop' });
    await others[0]!.until(({ event }) => event === 'finish');
    await expect.poll(() => placesOf(user), { timeout: 60_000 }).toBe(1);
    expect(others[0]?.socket.readyState).toBe(WebSocket.OPEN);
    others[5]?.send(start(), text('No. '), { event: 'stop' });
    expect(await others[5]!.until(({ event }) => event === 'finish')).toMatchObject({ reason: 'stop' });
    for (const { socket } of idle) socket.terminate();
  });
});

describe('slow and disconnected readers', () => {
  const LONG = 'This is one more sentence of a very long story that nobody listens to. '.repeat(1_380);

  it('a disconnect stops the work, frees the place and is charged; a slow reader delays no one else', async () => {
    const credit = async () =>
      Number((await api.request('GET', '/wallet/self/api-credit', { key: user.key })).body.credit);
    const before = await credit();
    const answer = await fetch(`http://${base}/v1/tts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${user.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ text: LONG, format: 'wav' }),
    });
    const reader = answer.body!.getReader();
    const first = await reader.read();
    expect(Buffer.from(first.value!).subarray(0, 4).toString()).toBe('RIFF');
    // The audio is not read any further: hours of it wait in the engine, not in memory, and another request
    // is served meanwhile.
    const other = await api.request('POST', '/v1/tts', {
      key: user.key,
      body: { text: 'Hello.', format: 'pcm' },
    });
    expect(other.status).toBe(200);
    const memory = process.memoryUsage();
    expect(memory.arrayBuffers).toBeLessThan(512 * 1024 * 1024);
    await reader.cancel();
    while ((await credit()) > before - 1) await systemClock.sleep(20);
    const open = await Promise.all(Array.from({ length: 5 }, () => Client.open()));
    for (const { socket } of open) socket.terminate();
  });
});

describe('buffered live text', () => {
  it('waits for whole sentences of a minimum length, splits endless ones at a space, keeps the rest', () => {
    const live = new LiveText({ least: 10, most: 30 });
    expect(live.add('Hi. ')).toBeNull();
    expect(live.add('How are you? And')).toBe('Hi. How are you? ');
    expect(live.add(' it costs 3.5 and so on and on and on')).toBe('And it costs 3.5 and so on and on and ');
    expect(live.flush()).toBe('on');
    expect(live.flush()).toBeNull();
  });

  it.each([
    ['', 'x'],
    ['', ' '],
    ['', '.'],
    ['', '. x'],
    // A sentence too short to be spoken by itself, followed by text that never ends a sentence.
    ['A. ', 'x'],
  ])('security 6: never exceeds its limit, however the text arrives: %j, then %j', (first, token) => {
    const live = new LiveText({ least: 10, most: 30 });
    let gathered = first.length - (live.add(first)?.length ?? 0);
    for (let count = 0; count < 1_000; count++) {
      gathered += token.length - (live.add(token)?.length ?? 0);
      expect(gathered).toBeLessThanOrEqual(30);
    }
  });
});
