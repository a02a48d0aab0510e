/**
 * `npm run fuzz:sockets -- [--count 100000] [--seed n]`: sends this many mutated MessagePack bodies,
 * WebSocket messages and WebSocket frames (RFC 6455 §5.2) to its own product; prints the results and the
 * memory use, and fails on an answer of 500 or a lost process.
 */
import { readFileSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { encode } from '@msgpack/msgpack';
import { WebSocket } from 'ws';
import { type Product, startProduct } from '#test/journeys/product.ts';
import { createRandom } from '#test/simulation/random.ts';
import { mutate } from './sip/mutate.ts';

const { values } = parseArgs({
  options: { count: { type: 'string', default: '100000' }, seed: { type: 'string' } },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const count = Number(values.count);
const random = createRandom(seed);
/** Inputs per connection. */
const PER_SOCKET = 50;
const AT_ONCE = 4;
const ANSWER_MS = 30_000;

const START = {
  event: 'start',
  request: { text: '', format: 'pcm', reference_id: null, latency: 'low', prosody: { speed: 1, volume: 0 } },
};
const PACKED = [START, { event: 'text', text: 'Hi. ' }, { event: 'flush' }, { event: 'stop' }].map(
  (message) => Buffer.from(encode(message)),
);
const JSON_TEXT = [
  {
    type: 'session.update',
    session: {
      type: 'realtime',
      instructions: 'Be brief.',
      audio: { output: { format: { type: 'audio/pcm', rate: 24_000 } } },
    },
  },
  {
    type: 'conversation.item.create',
    item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
  },
  { type: 'input_audio_buffer.append', audio: 'AAAA' },
  { type: 'response.cancel' },
  { text: ' ', voice_settings: { speed: 1 }, try_trigger_generation: false },
].map((message) => Buffer.from(JSON.stringify(message)));
const SOCKETS = [
  { path: '/v1/tts/live', corpus: PACKED, isBinary: true },
  { path: '/v1/tts/live/with-timestamp', corpus: PACKED, isBinary: true },
  { path: '/compat/openai/v1/realtime?model=gpt-realtime', corpus: JSON_TEXT, isBinary: false },
  { path: '/compat/elevenlabs/v1/text-to-speech/default/stream-input', corpus: JSON_TEXT, isBinary: false },
] as const;

console.log(`seed ${seed}, ${count} inputs of each kind`);
// At the limit of refusals, a run would take an hour.
const environment = { LOG_LEVEL: 'error', LIMIT_REFUSALS_PER_SECOND: 'none' };
const product = await startProduct({ environment });
const problems: string[] = [];
/** Of the control plane after each fifth of the inputs, MB. */
let memory: number[] = [];
try {
  const { api_key: key } = await product.ask('POST', '/admin/users', { name: 'Fuzz', credit: '100000.00' });
  const processes = pidsOf(product);
  await run('MessagePack bodies', () => packedBodies(key));
  await run('messages on sockets', () => messages(key));
  await run('WebSocket frames', () => frames(key));
  if (pidsOf(product) !== processes) problems.push('a process was lost');
} finally {
  await product.close();
}
for (const problem of problems) console.log(problem);
process.exit(problems.length > 0 ? 1 : 0);

async function run(kind: string, inputs: () => Promise<ReadonlyMap<string, number>>): Promise<void> {
  const before = rssMb(product);
  memory = [];
  const came = await inputs();
  console.log(
    `${kind}: ${[...came]
      .sort(([, a], [, b]) => b - a)
      .map(([what, times]) => `${what}: ${times}`)
      .join(', ')}`,
  );
  console.log(`  memory of the control plane before ${before}, after each fifth ${memory.join(', ')} MB`);
  if ([...came.keys()].some((what) => what.startsWith('5') && what !== '503'))
    problems.push(`${kind}: a fault of ours`);
}

/** Runs `once` in parallel on a few connections until the required number is reached. */
async function often(
  times: number,
  once: (tally: (what: string) => void) => Promise<void>,
): Promise<ReadonlyMap<string, number>> {
  const came = new Map<string, number>();
  const tally = (what: string) => void came.set(what, (came.get(what) ?? 0) + 1);
  let left = times;
  const fifth = Math.ceil(times / 5);
  let done = 0;
  const lane = async () => {
    while (left-- > 0) {
      await once(tally);
      done += 1;
      if (done % fifth === 0) memory.push(rssMb(product));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  return came;
}

function packedBodies(key: string): Promise<ReadonlyMap<string, number>> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const corpus = [
    Buffer.from(
      encode({
        text: '',
        format: 'wav',
        references: [{ audio: new Uint8Array(40), text: 'a' }],
        prosody: { speed: 1 },
      }),
    ),
    ...PACKED,
  ];
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/msgpack' };
  return often(count, async (tally) => {
    const body = mutate(random.pick(corpus), corpus, random);
    tally(
      await new Promise<string>((resolve, reject) => {
        const options = {
          method: 'POST',
          agent,
          timeout: ANSWER_MS,
          headers: { ...headers, 'content-length': body.length },
        };
        const request = httpRequest(`${product.url}/v1/tts`, options, (answer) => {
          answer.resume().on('end', () => resolve(String(answer.statusCode)));
        });
        request.on('timeout', () => request.destroy(new Error('no answer'))).on('error', reject);
        request.end(body);
      }),
    );
  });
}

function messages(key: string): Promise<ReadonlyMap<string, number>> {
  return often(Math.ceil(count / PER_SOCKET), async (tally) => {
    const { path, corpus, isBinary } = random.pick(SOCKETS);
    const socket = await opened(path, key);
    if (typeof socket === 'string') return tally(socket);
    for (let sent = 0; sent < PER_SOCKET; sent++)
      socket.send(mutate(random.pick(corpus), corpus, random), { binary: isBinary });
    tally(await closed(socket));
  });
}

/** After the handshake all data bypasses the client's own framing. */
function frames(key: string): Promise<ReadonlyMap<string, number>> {
  const corpus = PACKED.map((payload) =>
    Buffer.concat([Buffer.from([0x82, 0x80 | payload.length, 0, 0, 0, 0]), payload]),
  );
  return often(Math.ceil(count / PER_SOCKET), async (tally) => {
    const socket = await opened('/v1/tts/live', key);
    if (typeof socket === 'string') return tally(socket);
    const wire = (socket as unknown as { _socket: Socket })._socket;
    for (let sent = 0; sent < PER_SOCKET && wire.writable; sent++)
      wire.write(mutate(random.pick(corpus), corpus, random));
    tally(await closed(socket));
  });
}

function opened(path: string, key: string): Promise<WebSocket | string> {
  const socket = new WebSocket(`${product.url.replace('http', 'ws')}${path}`, {
    headers: { authorization: `Bearer ${key}`, 'xi-api-key': key },
  });
  return new Promise((resolve) => {
    socket.on('open', () => resolve(socket));
    socket.on('unexpected-response', (_request, answer) => resolve(String(answer.statusCode)));
    socket.on('error', (error) => resolve(error.message));
  });
}

/** Returns how the socket ended; closes one that stays open. */
function closed(socket: WebSocket): Promise<string> {
  return new Promise((resolve) => {
    socket.on('error', () => {}).on('close', (code) => resolve(`closed ${code}`));
    if (socket.readyState === WebSocket.CLOSED) resolve('closed before');
    setTimeout(() => socket.terminate(), 50);
  });
}

function pidsOf(of: Product): string {
  return of
    .parts('control-plane')
    .map(({ pid }) => pid)
    .join();
}

function rssMb(of: Product): number {
  const pid = of.parts('control-plane')[0]?.pid ?? 0;
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024);
}
