/**
 * `npm run bench:speech`: measures the speech APIs on this machine with the local engine: first byte and
 * real-time factor compared with the bare engine. Then opens fifty live streams at once: each must stay ahead
 * of its listener or be refused with 429, while the rest of the API stays responsive.
 */
import { availableParallelism } from 'node:os';
import { decode, encode } from '@msgpack/msgpack';
import WebSocket from 'ws';
import { quantile } from '#caller/statistics.ts';
import { openFlite } from '#media/speech/local/flite.ts';
import { type Product, startProduct } from '#test/journeys/product.ts';
import { type Figure, judge, toText } from './figures.ts';

const TEXT =
  'Thank you for calling the clinic. Our doctors are in from nine to five. How can I help you today?';
const RUNS = 20;
const STREAMS = 50;
const SENTENCES = 3;
const RATE_HZ = 24_000;

async function run(): Promise<void> {
  const figures: Figure[] = [];
  // Prints progress, because a run takes minutes on a busy machine.
  const take = (measured: readonly Figure[]) => {
    figures.push(...measured);
    console.log(toText(measured));
  };
  take(await bareEngine());
  const product = await startProduct({ environment: { STARTING_CREDIT: '1000000.00', LOG_LEVEL: 'warn' } });
  try {
    await speak(product, 'mp3');
    for (const format of ['pcm', 'mp3', 'opus']) take(await measureRequests(product, format));
    take(await measureStreams(product));
  } finally {
    await product.close();
  }
  console.log(`\n${toText(figures)}`);
}

/** Times of the bare engine: its first chunk and its complete speech. */
async function bareEngine(): Promise<Figure[]> {
  const engine = await openFlite();
  const first: number[] = [];
  const factors: number[] = [];
  for (let index = 0; index < RUNS; index++) {
    const from = performance.now();
    const options = {
      voiceId: null,
      language: 'en',
      speed: 1,
      sampleRateHz: RATE_HZ,
      signal: new AbortController().signal,
    };
    let audioMs = 0;
    for await (const { samples, sampleRateHz } of engine.synthesise(TEXT, options)) {
      if (audioMs === 0) first.push(performance.now() - from);
      audioMs += (samples.length * 1_000) / sampleRateHz;
    }
    factors.push((performance.now() - from) / audioMs);
  }
  await engine.close();
  return [
    judge({ what: 'first audio of the bare engine', load: '1 request', unit: 'ms', samples: RUNS }, [
      { name: 'p50', value: quantile(first, 0.5), limit: 100 },
    ]),
    judge(
      { what: 'real-time factor of the bare engine', load: '1 request', unit: '', samples: RUNS, digits: 3 },
      [{ name: 'p50', value: quantile(factors, 0.5), limit: 0.2 }],
    ),
  ];
}

async function speak(product: Product, format: string): Promise<{ firstMs: number; totalMs: number }> {
  const from = performance.now();
  const response = await fetch(`${product.url}/v1/tts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${product.rootKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ text: TEXT, format, latency: 'low' }),
  });
  if (response.status !== 200 || !response.body) throw new Error(`HTTP ${response.status}`);
  let firstMs = 0;
  for await (const _ of response.body) firstMs ||= performance.now() - from;
  return { firstMs, totalMs: performance.now() - from };
}

async function measureRequests(product: Product, format: string): Promise<Figure[]> {
  const answers = [];
  for (let index = 0; index < RUNS; index++) answers.push(await speak(product, format));
  const pcm = await fetch(`${product.url}/v1/tts`, {
    method: 'POST',
    headers: { authorization: `Bearer ${product.rootKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ text: TEXT, format: 'pcm', sample_rate: RATE_HZ }),
  });
  const audioMs = (await pcm.arrayBuffer()).byteLength / 2 / (RATE_HZ / 1_000);
  const first = answers.map(({ firstMs }) => firstMs);
  const factors = answers.map(({ totalMs }) => totalMs / audioMs);
  return [
    judge({ what: `first byte of ${format}`, load: '1 request', unit: 'ms', samples: RUNS }, [
      { name: 'p50', value: quantile(first, 0.5), limit: 150 },
      { name: 'p95', value: quantile(first, 0.95), limit: 300 },
    ]),
    judge({ what: `real-time factor of ${format}`, load: '1 request', unit: '', samples: RUNS, digits: 3 }, [
      { name: 'p50', value: quantile(factors, 0.5), limit: 0.5 },
    ]),
  ];
}

/**
 * Largest delay of a stream's audio for a listener that plays from the first piece on, ms. Null if the stream
 * was refused, with 429 or at its start.
 */
async function stream(product: Product): Promise<number | null> {
  const socket = new WebSocket(`${product.url.replace('http', 'ws')}/v1/tts/live`, {
    headers: { authorization: `Bearer ${product.rootKey}` },
  });
  return new Promise((resolve, reject) => {
    let startedAt: number | null = null;
    let playedMs = 0;
    let latestMs = 0;
    socket.on('unexpected-response', (_, response) =>
      response.statusCode === 429 ? resolve(null) : reject(new Error(`HTTP ${response.statusCode}`)),
    );
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('closed before its end')));
    socket.on('open', () => {
      socket.send(encode({ event: 'start', request: { text: '', format: 'mp3', latency: 'low' } }));
      for (let index = 0; index < SENTENCES; index++)
        socket.send(encode({ event: 'text', text: `${TEXT} ` }));
      socket.send(encode({ event: 'stop' }));
    });
    socket.on('message', (data: Buffer) => {
      const event = decode(data) as { event: string; time?: number; reason?: string };
      if (event.event === 'finish') {
        if (event.reason === 'stop') return resolve(latestMs);
        // All streams open at once, so a place that was free when a socket opened may be taken when its
        // stream starts.
        return startedAt === null ? resolve(null) : reject(new Error('a stream broke off'));
      }
      startedAt ??= performance.now();
      latestMs = Math.max(latestMs, performance.now() - startedAt - playedMs);
      playedMs += event.time ?? 0;
    });
  });
}

async function measureStreams(product: Product): Promise<Figure[]> {
  const api: number[] = [];
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      const from = performance.now();
      await product.ask('GET', '/v1/agent/agents');
      api.push(performance.now() - from);
    }
  })();
  const streams = await Promise.all(Array.from({ length: STREAMS }, () => stream(product)));
  isOver = true;
  await asking;
  const late = streams.filter((value) => value !== null);
  const load = `${STREAMS} streams, ${streams.length - late.length} refused, ${availableParallelism()} cores`;
  return [
    judge(
      { what: 'latest audio of a live stream behind its listener', load, unit: 'ms', samples: late.length },
      [{ name: 'worst', value: Math.max(...late), limit: 200 }],
    ),
    judge({ what: 'API beside them', load, unit: 'ms', samples: api.length }, [
      { name: 'p99', value: quantile(api, 0.99), limit: 100 },
    ]),
  ];
}

run().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
