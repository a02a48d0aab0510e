import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { createLogger } from '#base/log.ts';
import { Meters } from '#base/meters.ts';
import { plannedVoice } from '#config/custom-speech.ts';
import { readSettings } from '#config/env.ts';
import { createVendorMeters } from '#config/vendor-meters.ts';
import { CustomSpeech } from '#media/speech/custom/custom-speech.ts';
import { openSpeechEngines } from '#media/speech/engines.ts';
import { RecognitionFeed } from '#runtime/turn/loop/recognition-feed.ts';
import { collect } from '#test/collect.ts';
import { startDeepgramServer } from '#test/fakes/deepgram-server.ts';
import { startJambonzServer } from '#test/fakes/jambonz-server.ts';
import { sampleOf } from '#test/fakes/metric-sample.ts';
import { startOpenaiServer } from '#test/fakes/openai-server.ts';
import { buzz } from '../conformance.ts';
import { speak } from '../vendor-conformance.ts';
import { ownRecognizer, ownVoice } from './own-engines.ts';

const RATE = 8_000;
const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of opened.splice(0).reverse()) await thing.close();
});

/** An own server, and a platform with a recogniser and a voice of vendors. */
async function begin() {
  const own = await startJambonzServer({ lines: ['from the own one'] });
  const openai = await startOpenaiServer();
  const deepgram = await startDeepgramServer({ lines: ['from the platform'] });
  const meters = new Meters();
  const engines = await openSpeechEngines({
    settings: readSettings({
      DATA_DIR: mkdtempSync(join(tmpdir(), 'parley-own-')),
      OPENAI_BASE_URL: openai.url,
      DEEPGRAM_BASE_URL: deepgram.url,
      TTS_PROVIDER: 'openai',
      ASR_PROVIDER: 'deepgram',
    }),
    searchPath: '/nowhere',
    clock: systemClock,
    logger: createLogger({ level: 'silent', name: 'test' }),
    vendors: createVendorMeters(meters),
  });
  opened.push(own, openai, deepgram, engines);
  return { own, openai, engines, meters };
}

describe('an own voice that fails', () => {
  it('is replaced by the voice of the platform, and counted as “custom”', async () => {
    const { own, openai, engines, meters } = await begin();
    own.fault = { status: 500 };
    const voice = { engine: ownVoice({ url: own.ttsUrl }), hasFallback: true };
    const said = engines.callSynthesizer('openai:nova', 'en', voice);
    expect(await collect(speak(said, 'Good morning.'))).not.toEqual([]);
    expect(openai.requests[0]?.json).toMatchObject({ voice: 'nova', input: 'Good morning.' });
    const labels = 'service="synthesis",vendor="custom"';
    for (const series of [
      `parley_vendor_requests_total{${labels},outcome="unavailable"}`,
      `parley_vendor_failovers_total{${labels}}`,
    ])
      expect([series, await sampleOf(meters, series)]).toEqual([series, 1]);
  });

  it('has no replacement if its owner wants none', async () => {
    const { own, openai, engines } = await begin();
    own.fault = { status: 500 };
    const voice = { engine: ownVoice({ url: own.ttsUrl }), hasFallback: false };
    const said = engines.callSynthesizer('openai:nova', 'en', voice);
    await expect(collect(speak(said, 'Good morning.'))).rejects.toMatchObject({ category: 'unavailable' });
    expect(openai.requests).toEqual([]);
  });

  it('keeps a fixed phrase for the calls of its agent, and for no other agent', async () => {
    const { own, engines } = await begin();
    const speech = new CustomSpeech({
      egress: createEgressGuard({ allow: ['127.0.0.1'], clock: systemClock }),
      clock: systemClock,
    });
    const settings = plannedVoice.parse({
      protocol: 'jambonz',
      url: own.ttsUrl,
      model: '',
      voice: '',
      language: '',
      fallback: true,
      sample_rate_hz: 24_000,
      api_key: null,
    });
    for (const agentId of ['one', 'one', 'another']) {
      const voice = { engine: speech.synthesizer(agentId, settings), hasFallback: true };
      const said = engines.callSynthesizer('default', 'en', voice);
      await collect(speak(said, 'Hello.', undefined, { isFixed: true }));
    }
    expect(own.texts).toHaveLength(2);
  });
});

describe('an own recogniser', () => {
  /** What the turn loop hears in a call that begins with an utterance. */
  async function heardIn({ own, engines }: Awaited<ReturnType<typeof begin>>) {
    const recognizer = engines.callRecognizer('deepgram:nova-3', 'en', {
      engine: ownRecognizer({ url: own.sttUrl }),
      hasFallback: true,
    });
    const events: string[] = [];
    const feed = new RecognitionFeed({
      recognizer: recognizer!,
      language: 'en',
      multilingual: false,
      keyterms: [],
      onEvent: (event) => {
        events.push(event.type === 'final' ? event.text : event.type);
        if (event.type === 'failed') feed.open();
      },
    });
    feed.prepare(RATE);
    feed.open();
    feed.setVoice(true);
    feed.write(buzz(RATE, 600), RATE);
    feed.finalise();
    await expect.poll(() => events, { timeout: 20_000 }).toContain('finalised');
    feed.close();
    return events.filter((event) => event !== 'interim');
  }

  it('is heard before those of the platform', async () => {
    const stage = await begin();
    expect(await heardIn(stage)).toEqual(['from the own one', 'finalised']);
    const series = 'parley_vendor_requests_total{service="recognition",vendor="custom",outcome="ok"}';
    expect(await sampleOf(stage.meters, series)).toBe(1);
  });

  it('that fails is replaced within the call, and no word is lost', async () => {
    const stage = await begin();
    stage.own.fault = { status: 500 };
    expect(await heardIn(stage)).toEqual(['failed', 'from the platform', 'finalised']);
  });
});
