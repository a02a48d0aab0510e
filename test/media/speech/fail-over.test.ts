import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { Meters } from '#base/meters.ts';
import { readSettings } from '#config/env.ts';
import { createVendorMeters } from '#config/vendor-meters.ts';
import { EngineHealth } from '#media/speech/engine-health.ts';
import { openSpeechEngines } from '#media/speech/engines.ts';
import { failOverRecognizer, failOverSynthesizer } from '#media/speech/fail-over.ts';
import { openFlite } from '#media/speech/local/flite.ts';
import type { Recognizer } from '#media/speech/speech.ts';
import { createDeepgramRecognizer } from '#media/speech/vendors/deepgram.ts';
import { createDeepgramSynthesizer } from '#media/speech/vendors/deepgram-speech.ts';
import { createElevenlabsSynthesizer } from '#media/speech/vendors/elevenlabs.ts';
import { RecognitionFeed } from '#runtime/turn/loop/recognition-feed.ts';
import { collect } from '#test/collect.ts';
import { startDeepgramServer } from '#test/fakes/deepgram-server.ts';
import { startDeepgramSpeechServer } from '#test/fakes/deepgram-speech-server.ts';
import { startElevenlabsServer } from '#test/fakes/elevenlabs-server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { sampleOf } from '#test/fakes/metric-sample.ts';
import { buzz } from './conformance.ts';
import { saidTo, speak } from './vendor-conformance.ts';

const logger = createLogger({ level: 'silent', name: 'test' });
const opened: { close?(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of opened.splice(0).reverse()) await thing.close?.();
});

async function voices(clock: Clock) {
  const [first, second] = [await startElevenlabsServer(), await startDeepgramSpeechServer()];
  const access = { apiKey: undefined, clock };
  const elevenlabs = createElevenlabsSynthesizer({ baseUrl: first.url, ...access });
  const deepgram = createDeepgramSynthesizer({ baseUrl: second.url, ...access });
  opened.push(first, second, elevenlabs, deepgram);
  const meters = new Meters();
  const options = { health: new EngineHealth(clock), clock, logger, vendors: createVendorMeters(meters) };
  const call = () => failOverSynthesizer([elevenlabs, deepgram], options);
  return { first, second, call, meters };
}

describe('a failing voice that has a second one configured', () => {
  it('is counted by vendor and kind of failure, and so is the voice that takes over', async () => {
    const { first, call, meters } = await voices(new ManualClock());
    first.fault = { status: 429 };
    await collect(speak(call(), 'Good morning.'));
    const service = 'service="synthesis"';
    for (const [series, value] of [
      [`parley_vendor_requests_total{${service},vendor="elevenlabs",outcome="overloaded"}`, 1],
      [`parley_vendor_failovers_total{${service},vendor="elevenlabs"}`, 1],
      [`parley_vendor_requests_total{${service},vendor="deepgram",outcome="ok"}`, 1],
      [`parley_vendor_first_byte_seconds_count{${service},vendor="deepgram"}`, 1],
    ] as const)
      expect([series, await sampleOf(meters, series)]).toEqual([series, value]);
  });

  it.each([401, 429, 500])(
    'is replaced when the vendor answers %i; the first is retried after half a minute',
    async (status) => {
      const clock = new ManualClock();
      const { first, second, call } = await voices(clock);
      first.fault = { status };
      expect(await collect(speak(call(), 'Good morning.', undefined, { voiceId: 'abc' }))).not.toEqual([]);
      // The other vendor uses its own voice: it does not recognise the first vendor's ids.
      expect(saidTo(second)[0]?.query.get('model')).toBe('aura-2-thalia-en');
      first.fault = null;
      await collect(speak(call(), 'Another call.'));
      expect([saidTo(first).length, saidTo(second).length]).toEqual([0, 2]);
      await clock.advance(30_000);
      await collect(speak(call(), 'Good evening.'));
      expect([saidTo(first).length, saidTo(second).length]).toEqual([1, 2]);
    },
  );

  it('says which engine is asked, and which one after it', async () => {
    const { first, call } = await voices(new ManualClock());
    first.fault = { status: 429 };
    const asked: string[] = [];
    await collect(speak(call(), 'Good morning.', undefined, { onEngine: (id) => asked.push(id) }));
    expect(asked).toEqual(['elevenlabs', 'deepgram']);
  });

  it('is probed in the background after 2 s, then 4 s, and returns once it speaks', async () => {
    const clock = new ManualClock();
    const { first, second, call } = await voices(clock);
    first.fault = { status: 500 };
    await collect(speak(call(), 'Good morning.'));
    const say = () => collect(speak(call(), 'Good morning.'));
    const asked = () => saidTo(first).length;
    first.fault = { halfOpen: 'answers' };
    await clock.advance(2_000);
    await say();
    await expect.poll(asked, { timeout: 20_000 }).toBe(1);
    // The engine still fails, and the next probe waits longer.
    await clock.advance(2_500);
    first.fault = null;
    await clock.advance(2_000);
    await say();
    expect([asked(), saidTo(second).length]).toEqual([1, 3]);
    const later = async () => {
      await clock.advance(500);
      await say();
      return asked();
    };
    // The second probe, and then a text of the call itself.
    await expect.poll(later, { timeout: 20_000 }).toBeGreaterThan(2);
  });

  it('has 2.5 s to speak; the first delay costs it that text, the second half a minute', async () => {
    const clock = new ManualClock();
    const { first, second, call } = await voices(clock);
    first.fault = { halfOpen: 'answers' };
    for (const times of [1, 2]) {
      const said = collect(speak(call(), 'Good morning.'));
      await expect.poll(() => saidTo(first).length, { timeout: 20_000 }).toBe(times);
      await clock.advance(2_500);
      expect(await said).not.toEqual([]);
      expect(saidTo(second)).toHaveLength(times);
      // Text spoken while the caller waits goes to the other vendor too.
      await clock.advance(times === 1 ? 5_000 : 0);
    }
    first.fault = null;
    await collect(speak(call(), 'Another call.'));
    expect([saidTo(first).length, saidTo(second).length]).toEqual([2, 3]);
  });

  it('is not asked first for 5 s after a delay: the other one says the hold line', async () => {
    const clock = new ManualClock();
    const { first, second, call } = await voices(clock);
    first.fault = { halfOpen: 'answers' };
    const said = collect(speak(call(), 'Good morning.'));
    await expect.poll(() => saidTo(first).length, { timeout: 20_000 }).toBe(1);
    await clock.advance(2_500);
    await said;
    await collect(speak(call(), 'One moment, please.'));
    expect([saidTo(first).length, saidTo(second).length]).toEqual([1, 2]);
  });

  it('is followed by a local voice if the second is silent for a second, too, and is skipped', async () => {
    const clock = new ManualClock();
    const { first, second } = await voices(clock);
    const local = await openFlite();
    opened.push(local);
    const elevenlabs = createElevenlabsSynthesizer({ baseUrl: first.url, apiKey: undefined, clock });
    const deepgram = createDeepgramSynthesizer({ baseUrl: second.url, apiKey: undefined, clock });
    opened.push(elevenlabs, deepgram);
    const voice = failOverSynthesizer([elevenlabs, deepgram, local], {
      health: new EngineHealth(clock),
      clock,
      logger,
    });
    first.fault = { status: 500 };
    second.fault = { halfOpen: 'answers' };
    const said = collect(speak(voice, 'Good morning.'));
    await expect.poll(() => saidTo(second).length, { timeout: 20_000 }).toBe(1);
    await clock.advance(1_000);
    expect(await said).not.toEqual([]);
    expect(await collect(speak(voice, 'One moment, please.'))).not.toEqual([]);
    expect(saidTo(second)).toHaveLength(1);
    // An unrelated fault is not a refusal: the call asks this vendor again.
    first.fault = null;
    await clock.advance(30_000);
    await collect(speak(voice, 'Good evening.'));
    expect(saidTo(first)).toHaveLength(1);
  });

  it('never repeats speech: interrupted speech fails, and the next text goes to the other voice', async () => {
    const { first, second, call } = await voices(new ManualClock());
    const voice = call();
    first.breaksOff = true;
    await expect(collect(speak(voice, 'Good morning, how can I help?'))).rejects.toMatchObject({
      category: 'connectivity',
    });
    expect(saidTo(second)).toEqual([]);
    await collect(speak(voice, 'Good morning.'));
    expect(saidTo(second)).toHaveLength(1);
  });

  it('reports the last failure to the call when all fail; an abort is not a failure', async () => {
    const { first, second, call } = await voices(new ManualClock());
    [first.fault, second.fault] = [{ status: 429 }, { status: 500 }];
    await expect(collect(speak(call(), 'Good morning.'))).rejects.toMatchObject({ category: 'unavailable' });
    [first.fault, second.fault] = [null, null];
    const other = await voices(new ManualClock());
    await expect(collect(speak(other.call(), 'Hi.', AbortSignal.abort(new Error('gone'))))).rejects.toThrow(
      'gone',
    );
    await collect(speak(other.call(), 'Hi.'));
    expect(saidTo(other.second)).toEqual([]);
  });
});

describe('a failing recogniser that has a second one configured', () => {
  /** Listens as a call does: reopens after retryable failures. */
  async function listen(recognizer: Recognizer) {
    const heard: string[] = [];
    const failures: boolean[] = [];
    const over = Promise.withResolvers<void>();
    const feed = new RecognitionFeed({
      recognizer,
      language: 'en',
      multilingual: false,
      keyterms: [],
      onEvent: (event) => {
        if (event.type === 'final') heard.push(event.text);
        if (event.type === 'finalised') over.resolve();
        if (event.type !== 'failed') return;
        failures.push(event.error.retryable);
        if (event.error.retryable) feed.open();
        else over.resolve();
      },
    });
    feed.open();
    const speech = buzz(8_000, 800);
    for (let at = 0; at < speech.length; at += 160) feed.write(speech.slice(at, at + 160), 8_000);
    feed.finalise();
    await over.promise;
    feed.close();
    return { heard, failures };
  }

  async function ears(clock: Clock = systemClock) {
    const servers = [
      await startDeepgramServer({ lines: ['first'] }),
      await startDeepgramServer({ lines: ['second'] }),
    ] as const;
    opened.push(...servers);
    const [first, second] = servers.map(({ url }, index) => ({
      ...createDeepgramRecognizer('nova-3', { baseUrl: url, apiKey: undefined, clock: systemClock }),
      id: `ear-${index + 1}`,
    }));
    const options = { health: new EngineHealth(clock), clock, logger };
    return { servers, call: () => failOverRecognizer([first!, second!], options) };
  }

  it.each([401, 429, 500])(
    'is replaced when it answers %i, and the second one gets the audio received meanwhile',
    async (status) => {
      const { servers, call } = await ears();
      servers[0].fault = { status };
      expect(await listen(call())).toEqual({ heard: ['second'], failures: [true] });
      expect(await listen(call())).toEqual({ heard: ['second'], failures: [] });
    },
  );

  it('is probed with a moment of silence once skipped, and is used again when it answers', async () => {
    const clock = new ManualClock();
    const { servers, call } = await ears(clock);
    servers[0].fault = { status: 500 };
    expect(await listen(call())).toEqual({ heard: ['second'], failures: [true] });
    servers[0].fault = null;
    await clock.advance(2_000);
    expect(await listen(call())).toEqual({ heard: ['second'], failures: [] });
    await expect.poll(() => call().id, { timeout: 20_000 }).toBe('ear-1');
    expect(await listen(call())).toEqual({ heard: ['first'], failures: [] });
  });

  it('is reconnected after a broken connection', async () => {
    const { servers, call } = await ears();
    const heard: string[] = [];
    const feed = new RecognitionFeed({
      recognizer: call(),
      language: 'en',
      multilingual: false,
      keyterms: [],
      onEvent: (event) => {
        if (event.type === 'final') heard.push(event.text);
        if (event.type === 'failed') feed.open();
      },
    });
    const say = () => {
      feed.write(buzz(8_000, 800), 8_000);
      feed.finalise();
    };
    feed.open();
    say();
    await expect.poll(() => heard, { timeout: 20_000 }).toEqual(['first']);
    servers[0].cut();
    await expect.poll(() => servers[0].connections.length, { timeout: 20_000 }).toBe(2);
    say();
    await expect.poll(() => heard, { timeout: 20_000 }).toEqual(['first', 'first']);
    expect(servers[1].connections).toEqual([]);
    feed.close();
  });

  it('leaves no engine if all of them refuse', async () => {
    const { servers, call } = await ears();
    for (const server of servers) server.fault = { status: 401 };
    expect(await listen(call())).toEqual({ heard: [], failures: [true, false] });
  });
});

it('a call uses the chosen engine, then other vendors, then a local voice for the language', async () => {
  const [elevenlabs, deepgram] = [await startElevenlabsServer(), await startDeepgramSpeechServer()];
  const environment = {
    ELEVENLABS_BASE_URL: elevenlabs.url,
    DEEPGRAM_BASE_URL: deepgram.url,
    TTS_PROVIDER: 'elevenlabs',
  };
  const settings = readSettings({
    DATA_DIR: mkdtempSync(join(tmpdir(), 'parley-fail-over-')),
    ...environment,
  });
  const engines = await openSpeechEngines({ settings, searchPath: '', clock: systemClock, logger });
  opened.push(elevenlabs, deepgram, engines);
  elevenlabs.fault = { status: 500 };
  await collect(speak(engines.callSynthesizer('default', 'en'), 'One.'));
  expect(saidTo(deepgram)).toHaveLength(1);
  deepgram.fault = { status: 500 };
  await collect(speak(engines.callSynthesizer('default', 'en'), 'Two.'));
  await expect(
    collect(speak(engines.callSynthesizer('default', 'tl'), 'Dalawa.', undefined, { language: 'tl' })),
  ).rejects.toThrow('500');
  // A local voice is not replaced by a paid one.
  expect(engines.callSynthesizer('local:rms', 'en').voices).toEqual(
    engines.synthesizerFor('local:rms').voices,
  );
});
