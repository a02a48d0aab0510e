import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { RateConverter } from '#media/dsp/pcm.ts';
import { EngineHealth } from '#media/speech/engine-health.ts';
import { openSpeechEngines } from '#media/speech/engines.ts';
import { failOverSynthesizer } from '#media/speech/fail-over.ts';
import { PhraseCache } from '#media/speech/phrase-cache.ts';
import type { SynthesisOptions, Synthesizer } from '#media/speech/speech.ts';
import { createDeepgramSynthesizer } from '#media/speech/vendors/deepgram-speech.ts';
import { createElevenlabsSynthesizer } from '#media/speech/vendors/elevenlabs.ts';
import { collect } from '#test/collect.ts';
import { startDeepgramSpeechServer } from '#test/fakes/deepgram-speech-server.ts';
import { startElevenlabsServer } from '#test/fakes/elevenlabs-server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { startOpenaiServer } from '#test/fakes/openai-server.ts';
import { saidTo, speak } from './vendor-conformance.ts';

const logger = createLogger({ level: 'silent', name: 'test' });
const opened: { close?(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of opened.splice(0).reverse()) await thing.close?.();
});

const GREETING = 'Good morning, how can I help you today?';
const HOUR_MS = 3_600_000;

/** A vendor's voice with cached phrases. */
async function keptVoice() {
  const clock = new ManualClock();
  const server = await startElevenlabsServer();
  const engine = createElevenlabsSynthesizer({ baseUrl: server.url, apiKey: undefined, clock });
  opened.push(server, engine);
  const phrases = new PhraseCache(clock);
  const voice = phrases.of(engine);
  const say = (text: string, over: Partial<SynthesisOptions> = {}) =>
    collect(speak(voice, text, undefined, { isFixed: true, ...over }));
  return { clock, server, engine, phrases, voice, say, asked: () => saidTo(server).length };
}

describe('a text that is the same in every call', () => {
  it('is synthesised once: later calls get the same audio and word times without a vendor request', async () => {
    const { say, asked } = await keptVoice();
    const [first, second] = [await say(GREETING), await say(GREETING)];
    expect(asked()).toBe(1);
    expect(first.length).toBeGreaterThan(1);
    expect(first.flatMap(({ words }) => words ?? []).length).toBeGreaterThan(0);
    expect(first.some(({ isKept }) => isKept)).toBe(false);
    expect(second).toEqual(first.map((chunk) => ({ ...chunk, isKept: true })));
  });

  it('is cached at the rate of the call, in its original chunks', async () => {
    const { engine, say } = await keptVoice();
    const converter = new RateConverter(12_000);
    // The vendor does not support this rate, and answers with a higher one.
    const made = await collect(speak(engine, GREETING, undefined, { sampleRateHz: 12_000 }));
    expect(made[0]?.sampleRateHz).toBe(16_000);
    const converted = made.map(({ samples, words }) => ({
      samples: converter.convert(samples, 16_000),
      sampleRateHz: 12_000,
      words,
    }));
    expect(await say(GREETING, { sampleRateHz: 12_000 })).toEqual(converted);
    expect(await say(GREETING, { sampleRateHz: 12_000 })).toEqual(
      converted.map((chunk) => ({ ...chunk, isKept: true })),
    );
  });

  it.each<[string, Partial<SynthesisOptions>]>([
    ['voice', { voiceId: 'another' }],
    ['language', { language: 'de' }],
    ['speed', { speed: 1.1 }],
    ['emotion', { emotion: 'happy' }],
    ['rate', { sampleRateHz: 8_000 }],
  ])('is made anew for another %s', async (_, over) => {
    const { say, asked } = await keptVoice();
    await say(GREETING);
    await say(GREETING, over);
    expect(asked()).toBe(2);
  });

  it('is requested again an hour after it was made, even if used often: the vendor may change a voice', async () => {
    const { clock, say, asked } = await keptVoice();
    await say(GREETING);
    await clock.advance(HOUR_MS - 1);
    await say(GREETING);
    expect(asked()).toBe(1);
    await clock.advance(1);
    await say(GREETING);
    expect(asked()).toBe(2);
  });

  it('stops at once when the caller interrupts, also from the cache', async () => {
    const { voice, say } = await keptVoice();
    await say(GREETING);
    const stop = new AbortController();
    const speech = speak(voice, GREETING, stop.signal, { isFixed: true })[Symbol.asyncIterator]();
    expect((await speech.next()).value?.isKept).toBe(true);
    stop.abort(new Error('talked over'));
    await expect(speech.next()).rejects.toThrow('talked over');
  });
});

describe('the cache excludes', () => {
  it('text that is not fixed: a model’s words are synthesised each time', async () => {
    const { say, asked } = await keptVoice();
    for (const isFixed of [false, true, false]) await say(GREETING, { isFixed });
    expect(asked()).toBe(3);
  });

  it('text that was cut short by the caller, the listener or the vendor', async () => {
    const { server, voice, say, asked } = await keptVoice();
    const stop = new AbortController();
    const cut = speak(voice, GREETING, stop.signal, { isFixed: true })[Symbol.asyncIterator]();
    await cut.next();
    stop.abort(new Error('talked over'));
    await expect(cut.next()).rejects.toThrow('talked over');
    const left = speak(voice, GREETING, undefined, { isFixed: true })[Symbol.asyncIterator]();
    await left.next();
    await left.return?.();
    server.breaksOff = true;
    await expect(say(GREETING)).rejects.toThrow();
    server.breaksOff = false;
    expect((await say(GREETING)).some(({ isKept }) => isKept)).toBe(false);
    expect(asked()).toBe(4);
  });

  it('the least recently used texts above 32 MB in total, and any text above 2 MB', async () => {
    const phrases = new PhraseCache(new ManualClock());
    const made: string[] = [];
    const voice = phrases.of({
      id: 'large',
      voices: [],
      async *synthesise(text) {
        made.push(text);
        yield { samples: new Int16Array(Number(text.split(' ')[1])), sampleRateHz: 16_000, words: null };
      },
    });
    const say = (text: string) => collect(speak(voice, text, undefined, { isFixed: true }));
    const texts = Array.from({ length: 17 }, (_, index) => `${index} ${2 ** 20}`);
    for (const text of texts.slice(0, 16)) await say(text);
    await say(texts[0] ?? '');
    expect(made).toEqual(texts.slice(0, 16));
    await say(texts[16] ?? '');
    made.length = 0;
    for (const index of [0, 2, 15, 16, 1]) await say(texts[index] ?? '');
    expect(made).toEqual([texts[1]]);
    made.length = 0;
    const tooLong = `long ${2 ** 20 + 1}`;
    for (const text of [tooLong, tooLong]) await say(text);
    expect(made).toEqual([tooLong, tooLong]);
  });
});

describe('when engines stand in for each other', () => {
  async function callOf() {
    const kept = await keptVoice();
    const server = await startDeepgramSpeechServer();
    const second = createDeepgramSynthesizer({ baseUrl: server.url, apiKey: undefined, clock: kept.clock });
    opened.push(server, second);
    const health = new EngineHealth(kept.clock);
    const engines: [Synthesizer, Synthesizer] = [kept.voice, kept.phrases.of(second)];
    const say = (text: string, isFixed: boolean) =>
      collect(
        speak(failOverSynthesizer(engines, { health, clock: kept.clock, logger }), text, undefined, {
          isFixed,
        }),
      );
    return { ...kept, health, say, standIn: server };
  }

  it('each keeps its own audio: the stand-in is never played in place of the first', async () => {
    const { asked, clock, say, server, standIn } = await callOf();
    server.fault = { status: 500 };
    const instead = await say(GREETING, true);
    expect(await say(GREETING, true)).toEqual(instead.map((chunk) => ({ ...chunk, isKept: true })));
    expect(saidTo(standIn)).toHaveLength(1);
    server.fault = null;
    await clock.advance(30_000);
    const own = await say(GREETING, true);
    expect(own.some(({ isKept }) => isKept)).toBe(false);
    expect(asked()).toBe(1);
    expect(own.map(({ words }) => words)).not.toEqual(instead.map(({ words }) => words));
  });

  it('a cached phrase does not prove that its engine works', async () => {
    const { health, say } = await callOf();
    await say(GREETING, true);
    for (const id of ['elevenlabs', 'deepgram']) health.failed(id);
    expect((await say(GREETING, true)).every(({ isKept }) => isKept)).toBe(true);
    expect(health.isWell('elevenlabs')).toBe(false);
    await say('What the model says.', false);
    expect(health.isWell('elevenlabs')).toBe(true);
  });

  it('probing an engine bypasses the cache', async () => {
    const { asked, clock, health, say } = await callOf();
    await say('OK.', true);
    health.failed('elevenlabs');
    await clock.advance(2_000);
    await say(GREETING, true);
    await expect.poll(asked, { timeout: 20_000 }).toBe(2);
  });
});

it('the calls of a worker share the cached phrases of its voices', async () => {
  const vendor = await startOpenaiServer();
  const environment = {
    TTS_PROVIDER: 'openai',
    OPENAI_BASE_URL: vendor.url,
    DATA_DIR: mkdtempSync(join(tmpdir(), 'parley-kept-')),
  };
  const engines = await openSpeechEngines({
    settings: readSettings(environment),
    searchPath: '',
    clock: systemClock,
    logger,
  });
  opened.push(vendor, engines);
  const greet = (voiceId: string) =>
    collect(speak(engines.callSynthesizer(voiceId, 'en'), GREETING, undefined, { isFixed: true }));
  for (const voiceId of ['default', 'default', 'openai:nova', 'openai:nova', 'local:slt'])
    await greet(voiceId);
  expect(vendor.requests.map(({ json }) => json?.['voice'])).toEqual(['alloy', 'nova']);
  expect((await greet('local:slt')).every(({ isKept }) => isKept)).toBe(true);
});
