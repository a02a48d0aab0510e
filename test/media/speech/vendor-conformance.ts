/**
 * Requirements for every engine behind a vendor's socket when the vendor fails, whatever its protocol: one
 * suite, run by each engine's own test file.
 */
import { afterEach, expect, it } from 'vitest';
import type { Clock } from '#base/clock.ts';
import { systemClock } from '#base/clock.ts';
import type { SpeechChunk, SynthesisOptions, Synthesizer } from '#media/speech/speech.ts';
import { collect } from '#test/collect.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import type { VendorConnection, VendorServer } from '#test/fakes/vendor-sockets.ts';
import { buzz, expectStalled, type Recording, synthesizerConforms } from './conformance.ts';

/** How to reach an engine. */
export interface VendorAccess {
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly clock: Clock;
}

/** The system clock with deadlines ten times as long: a busy machine must not look like a stalled vendor. */
export const patientClock: Clock = { ...systemClock, after: (ms, run) => systemClock.after(10 * ms, run) };

/** Starts fake vendor servers that are closed after each test. */
export function vendorsOf<Server extends { close(): Promise<void> }, Options extends object>(
  start: (options: Options) => Promise<Server>,
): (options?: Options) => Promise<Server> {
  const opened: Server[] = [];
  afterEach(async () => {
    for (const server of opened.splice(0)) await server.close();
  });
  return async (options = {} as Options) => {
    const server = await start(options);
    opened.push(server);
    return server;
  };
}

/** Test for every vendor's live recogniser; `listen` opens a stream with a key. */
export function recognizerFailuresConform(
  vendor: (options: { readonly apiKey: string }) => Promise<VendorServer>,
  listen: (server: VendorServer, apiKey: string) => Recording,
): void {
  it('a wrong key, a busy vendor and a broken connection are distinguished', async () => {
    const server = await vendor({ apiKey: KEY });
    const failureOf = async (heard: Recording) => {
      await heard.until('failed');
      return heard.of('failed');
    };
    expect(await failureOf(listen(server, 'another'))).toMatchObject([
      { error: { category: 'authentication', retryable: false } },
    ]);
    const cut = listen(server, KEY);
    await expect.poll(() => server.connections.length, { timeout: 20_000 }).toBe(1);
    server.cut();
    expect(await failureOf(cut)).toMatchObject([{ error: { category: 'connectivity', retryable: true } }]);
    server.fault = { status: 429 };
    expect(await failureOf(listen(server, KEY))).toMatchObject([{ error: { category: 'overloaded' } }]);
  });
}

/** A vendor that never ends a turn, after words. */
export async function expectEndlessTurnStalls(
  listen: (clock: Clock) => Recording,
  rateHz: number,
): Promise<void> {
  const clock = new ManualClock();
  const heard = listen(clock);
  heard.write(buzz(rateHz, 900));
  await heard.until('interim');
  heard.stream.finalise();
  await expectStalled(heard, () => clock.advance(2_001));
  expect(clock.pendingTimers).toBe(0);
}

/** A vendor whose connection never opens. */
export async function expectUnopenedStalls<Server extends VendorServer>(
  server: Server,
  listen: (server: Server, clock: Clock) => Recording,
): Promise<void> {
  server.fault = { halfOpen: 'upgrade' };
  const clock = new ManualClock();
  await expectStalled(listen(server, clock), () => clock.advance(3_001));
}

/**
 * A vendor that accepts 560 ms of speech and answers nothing. `asks`: the last words are requested.
 * `sentMs` of audio arrive there before.
 */
export async function expectSilenceStalls<
  Server extends VendorServer & { readonly connections: readonly { readonly audioBytes: number }[] },
>(
  server: Server,
  listen: (server: Server, clock: Clock) => Recording,
  { rateHz, asks, sentMs }: { readonly rateHz: number; readonly asks: boolean; readonly sentMs: number },
): Promise<void> {
  server.fault = { halfOpen: 'answers' };
  const clock = new ManualClock();
  const heard = listen(server, clock);
  heard.write(buzz(rateHz, 560));
  if (asks) heard.stream.finalise();
  await expect
    .poll(() => server.connections[0]?.audioBytes, { timeout: 20_000 })
    .toBe((sentMs * rateHz * 2) / 1_000);
  await expectStalled(heard, () => clock.advance(asks ? 2_001 : 6_001));
  expect(clock.pendingTimers).toBe(0);
}

const KEY = 'a-key';
const TEXT = 'Good morning, how can I help?';

/**
 * Tests for every vendor's synthesiser; `start` starts the fake vendor server with a key. A vendor that is
 * sent requests (`http`) has no socket to open in advance.
 */
export function vendorSynthesizerConforms<Server extends VendorServer>(
  start: (options: { readonly apiKey: string }) => Promise<Server>,
  create: (access: VendorAccess) => Synthesizer,
  transport: 'socket' | 'http' = 'socket',
): {
  readonly begin: (clock?: Clock, apiKey?: string) => Promise<{ server: Server; synthesizer: Synthesizer }>;
} {
  const opened: { close?(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const thing of opened.splice(0).reverse()) await thing.close?.();
  });
  const begin = async (clock: Clock = patientClock, apiKey = KEY) => {
    const server = await start({ apiKey: KEY });
    const synthesizer = create({ baseUrl: server.url, apiKey, clock });
    opened.push(server, synthesizer);
    return { server, synthesizer };
  };

  synthesizerConforms(async () => (await begin()).synthesizer);

  it('the complete text is synthesised in order, at the requested rate', async () => {
    const { synthesizer } = await begin();
    const chunks = await collect(speak(synthesizer, TEXT));
    expect(milliseconds(chunks)).toBeCloseTo(600, 0);
    const samples = Int16Array.from(chunks.flatMap((chunk) => [...chunk.samples]));
    // The fake server's tone continues from chunk to chunk, which reveals a lost, duplicated or swapped
    // sample.
    expect(samples).toEqual(samples.map((_, index) => Math.round(4_000 * Math.sin(index / 5))));
    expect(new Set(chunks.map((chunk) => chunk.sampleRateHz))).toEqual(new Set([16_000]));
  });

  it('a wrong key is an authentication failure and is not retried', async () => {
    const { synthesizer } = await begin(patientClock, 'another');
    await expect(collect(speak(synthesizer, TEXT))).rejects.toMatchObject({
      name: 'SpeechError',
      category: 'authentication',
      retryable: false,
    });
  });

  it.each([
    [429, 'overloaded', true],
    [402, 'quota', false],
    [500, 'unavailable', false],
  ])('a refusal with HTTP %i is %s, retryable: %s', async (status, category, retryable) => {
    const { server, synthesizer } = await begin();
    server.fault = { status };
    await expect(collect(speak(synthesizer, TEXT))).rejects.toMatchObject({ category, retryable });
  });

  it('an unreachable address is a connectivity failure', async () => {
    const { server, synthesizer } = await begin();
    await server.close();
    await expect(collect(speak(synthesizer, TEXT))).rejects.toMatchObject({
      category: 'connectivity',
      retryable: true,
    });
  });

  const halfOpens: ('upgrade' | 'answers')[] = transport === 'socket' ? ['upgrade', 'answers'] : ['answers'];
  it.each(halfOpens)('a half-open socket fails as stalled: %s', async (halfOpen) => {
    const clock = new ManualClock();
    const { server, synthesizer } = await begin(clock);
    server.fault = { halfOpen };
    const failed = expect(collect(speak(synthesizer, TEXT))).rejects.toMatchObject({
      category: 'stalled',
      retryable: true,
    });
    if (halfOpen === 'answers')
      await expect.poll(() => saidTo(server).length, { timeout: 20_000 }).toBeGreaterThan(0);
    await clock.advance(5_001);
    await failed;
  });

  it('a connection that breaks during speech fails as connectivity; the next text succeeds', async () => {
    const { server, synthesizer } = await begin();
    server.fault = { halfOpen: 'answers' };
    const failed = expect(collect(speak(synthesizer, TEXT))).rejects.toMatchObject({
      category: 'connectivity',
      retryable: true,
    });
    await expect.poll(() => saidTo(server).length, { timeout: 20_000 }).toBeGreaterThan(0);
    server.cut();
    await failed;
    server.fault = null;
    expect(milliseconds(await collect(speak(synthesizer, TEXT)))).toBeCloseTo(600, 0);
  });

  it('the next text succeeds after an idle connection has died', async () => {
    const { server, synthesizer } = await begin();
    await collect(speak(synthesizer, TEXT));
    server.cut();
    expect(milliseconds(await collect(speak(synthesizer, TEXT)))).toBeCloseTo(600, 0);
  });

  it.runIf(transport === 'socket')('a prepared synthesiser connects before the first text', async () => {
    const { server, synthesizer } = await begin();
    synthesizer.prepare?.({ voiceId: null, language: 'en', speed: 1, sampleRateHz: 16_000 });
    synthesizer.prepare?.({ voiceId: null, language: 'en', speed: 1, sampleRateHz: 16_000 });
    await expect.poll(() => server.connections.length, { timeout: 20_000 }).toBe(1);
    await collect(speak(synthesizer, TEXT));
    expect(saidTo(server)).toEqual([server.connections[0]]);
  });

  it('an emotion is never spoken as text, whether or not the voice supports it', async () => {
    const { server, synthesizer } = await begin();
    const options = {
      voiceId: null,
      language: 'en',
      speed: 1,
      sampleRateHz: 16_000,
      signal: new AbortController().signal,
    };
    expect(
      milliseconds(await collect(synthesizer.synthesise(TEXT, { ...options, emotion: 'happy' }))),
    ).toBeCloseTo(600, 0);
    const said = saidTo(server).flatMap(({ messages }) =>
      messages.map(({ text, transcript }) => String(text ?? transcript ?? '')),
    );
    expect(said.join('').trim()).toBe(TEXT);
  });

  it('nothing follows an abort, and the next text is complete', async () => {
    const { synthesizer } = await begin();
    const stop = new AbortController();
    const heard: SpeechChunk[] = [];
    const run = async () => {
      for await (const chunk of speak(synthesizer, TEXT.repeat(20), stop.signal)) {
        heard.push(chunk);
        stop.abort(new Error('interrupted'));
      }
    };
    await expect(run()).rejects.toThrow('interrupted');
    expect(heard).toHaveLength(1);
    expect(milliseconds(await collect(speak(synthesizer, TEXT)))).toBeCloseTo(600, 0);
  });

  it('close leaves no open connection or timer', async () => {
    const clock = new ManualClock();
    const { server, synthesizer } = await begin(clock);
    await collect(speak(synthesizer, TEXT));
    await collect(speak(synthesizer, TEXT));
    await synthesizer.close?.();
    await expect
      .poll(() => server.connections.filter(({ isOpen }) => isOpen).length, { timeout: 20_000 })
      .toBe(0);
    await expect.poll(() => clock.pendingTimers, { timeout: 20_000 }).toBe(0);
  });

  return { begin };
}

/** Speaks with the engine's defaults at 16 kHz. */
export function speak(
  synthesizer: Synthesizer,
  text: string,
  signal: AbortSignal = new AbortController().signal,
  over: Partial<SynthesisOptions> = {},
): AsyncIterable<SpeechChunk> {
  return synthesizer.synthesise(text, {
    voiceId: null,
    language: 'en',
    speed: 1,
    sampleRateHz: 16_000,
    signal,
    ...over,
  });
}

function milliseconds(chunks: readonly SpeechChunk[]): number {
  return chunks.reduce((sum, chunk) => sum + (chunk.samples.length * 1_000) / chunk.sampleRateHz, 0);
}

/** Connections that received a text; the others are kept ready. */
export function saidTo(server: VendorServer): readonly VendorConnection[] {
  return server.connections.filter(({ messages }) => messages.length > 0);
}

/** The words for which an engine reported times, as written, with their start times in ms. */
export function timedWords(text: string, chunks: readonly SpeechChunk[]): [word: string, startMs: number][] {
  return chunks.flatMap((chunk) =>
    (chunk.words ?? []).map((word): [string, number] => [
      text.slice(word.textStart, word.textEnd),
      Math.round(word.startMs),
    ]),
  );
}
