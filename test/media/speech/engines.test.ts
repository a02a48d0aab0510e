import { mkdirSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { detectCapabilities, openSpeechEngines, type SpeechEngines } from '#media/speech/engines.ts';
import { detectEspeakVoices } from '#media/speech/local/espeak.ts';
import type { Recognizer } from '#media/speech/speech.ts';
import { collect } from '#test/collect.ts';
import { modelOf, tableFile } from '#test/fakes/model-mirror.ts';
import { startOpenaiServer } from '#test/fakes/openai-server.ts';
import { SAMPLES_PER_LETTER, tinyRecogniser, tinyVoice } from '#test/fakes/tiny-models.ts';
import { itNeeds } from '#test/needs.ts';
import { buzz, Recording, silence } from './conformance.ts';

const logger = createLogger({ level: 'silent', name: 'test' });
const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of opened.splice(0)) await thing.close();
});

async function engines(
  environment: Record<string, string> = {},
  searchPath = '/nowhere',
): Promise<SpeechEngines> {
  const dataDir = environment['DATA_DIR'] ?? mkdtempSync(join(tmpdir(), 'parley-engines-'));
  const open = await openSpeechEngines({
    settings: readSettings({ DATA_DIR: dataDir, ...environment }),
    searchPath,
    clock: systemClock,
    logger,
  });
  opened.push(open);
  return open;
}

/** Kinds of local recognisers found with this data directory. */
function recognitionIn(dataDir: string) {
  const settings = readSettings({ DATA_DIR: dataDir });
  return detectCapabilities({ settings, searchPath: '', clock: systemClock })().localRecognition;
}

const options = (voiceId: string | null) => ({
  voiceId,
  language: 'en',
  speed: 1,
  sampleRateHz: 16_000,
  signal: new AbortController().signal,
});

describe('recognition', () => {
  it('is missing without a recogniser; the start-up log lists what callers can do and how to add one', async () => {
    const open = await engines();
    expect(open.recognizerFor('local:auto', 'en')).toBeNull();
    const lines = open.describe().join('\n');
    expect(lines).toMatch(/keypad/);
    expect(lines).toMatch(/press “Let it hear” in the console or run npx parley models \(44 MB\)/);
    expect(recognitionIn('/nowhere')).toEqual([]);
  });

  itNeeds(['pocketsphinx_continuous'])(
    'uses an installed pocketsphinx, even for an unknown model',
    async () => {
      const open = await engines({}, process.env['PATH']);
      for (const id of ['local:auto', 'local:pocketsphinx', 'nobody:knows', ''])
        expect(open.recognizerFor(id, 'en')?.id, id).toBe('local:pocketsphinx');
      expect(open.describe()).toContain('Speech recognition: local:pocketsphinx');
    },
  );

  it('uses a configured vendor for any of its models, and for unknown ones if it is the platform’s provider', async () => {
    const open = await engines({ ASR_PROVIDER: 'deepgram', DEEPGRAM_BASE_URL: 'ws://127.0.0.1:1' });
    expect(open.recognizerFor('deepgram:nova-2', 'en')?.id).toBe('deepgram:nova-2');
    expect(open.recognizerFor('deepgram:flux-general-en', 'en')?.id).toBe('deepgram:flux-general-en');
    expect(open.recognizerFor('openai:whisper-1', 'en')?.id).toBe('deepgram:nova-3');
  });

  it('Azure’s and Google Cloud’s recognisers and voices are found by their names', async () => {
    const open = await engines({
      ASR_PROVIDER: 'google_cloud',
      GOOGLE_CLOUD_KEY_FILE: '/nowhere.json',
      AZURE_API_KEY: 'k',
      AZURE_REGION: 'westeurope',
    });
    expect(open.recognizerFor('azure:dictation', 'en')?.id).toBe('azure:dictation');
    expect(open.recognizerFor('unknown:model', 'en')?.id).toBe('google_cloud:latest_long');
    expect(open.synthesizerFor('azure:sv-SE-SofieNeural').id).toBe('azure');
    expect(open.synthesizerFor('google_cloud:en-GB-Neural2-A').id).toBe('google_cloud');
  });

  it('the start-up log says which engine hears callers when the vendor fails', async () => {
    const alone = { ASR_PROVIDER: 'deepgram', DEEPGRAM_BASE_URL: 'ws://127.0.0.1:1' };
    expect((await engines(alone)).describe().join('\n')).toMatch(
      /When deepgram:nova-3 fails: callers are not understood/,
    );
    const two = await engines({ ...alone, OPENAI_BASE_URL: 'http://127.0.0.1:1' });
    expect(two.describe()).toContain('When deepgram:nova-3 fails: openai:gpt-live-transcribe');
  });

  it('a complete streaming model below DATA_DIR is found, quantised file first', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'parley-models-'));
    const model = join(dataDir, 'models', 'streaming-en');
    mkdirSync(model, { recursive: true });
    for (const file of ['tokens.txt', 'encoder.onnx', 'encoder.int8.onnx', 'decoder.onnx'])
      writeFileSync(join(model, file), '');
    expect(recognitionIn(dataDir)).toEqual([]);
    writeFileSync(join(model, 'joiner.onnx'), '');
    expect(recognitionIn(dataDir)).toEqual(['sherpa']);
    expect((await engines({ DATA_DIR: dataDir })).recognizerFor('local:auto', 'en')?.id).toBe('local:sherpa');
  });
});

describe('a model that is put into its place while the engines run', () => {
  /** Puts a model into its place as an installation does, with one rename. */
  function put(dataDir: string, name: string, contents: Record<string, Buffer>): void {
    const aside = mkdtempSync(join(dataDir, 'aside-'));
    for (const [file, content] of Object.entries(contents)) writeFileSync(join(aside, file), content);
    mkdirSync(join(dataDir, 'models'), { recursive: true });
    renameSync(aside, join(dataDir, 'models', name));
  }

  const heardBy = async (recognizer: Recognizer) => {
    const heard = new Recording(recognizer, 8_000);
    heard.write(buzz(8_000, 1_000));
    heard.stream.finalise();
    await heard.until('finalised');
    heard.stream.close();
    return heard.finals;
  };

  it('hears the next call, in the language of each model, and a call in progress keeps what it has', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'parley-models-'));
    const table = tableFile([
      modelOf(tinyRecogniser('opening hours'), { id: 'tiny-en' }),
      modelOf(tinyRecogniser('guten tag'), { id: 'tiny-de', languages: ['de'] }),
    ]);
    const open = await engines({ DATA_DIR: dataDir, MODELS_TABLE: table });
    expect(open.callRecognizer('local:auto', 'en')).toBeNull();
    put(dataDir, 'tiny-en', tinyRecogniser('opening hours'));
    open.prepare('tiny-en');
    open.prepare('tiny-de');
    const running = open.callRecognizer('local:auto', 'de')!;
    expect(await heardBy(open.callRecognizer('local:auto', 'en')!)).toBe('opening hours');
    put(dataDir, 'tiny-de', tinyRecogniser('guten tag'));
    expect(await heardBy(open.callRecognizer('local:auto', 'de')!)).toBe('guten tag');
    expect(await heardBy(open.callRecognizer('local:sherpa', 'en')!)).toBe('opening hours');
    expect(await heardBy(running)).toBe('opening hours');
    expect(open.describe()).toContain('Speech recognition: local:sherpa');
  });

  it('hears English without a known language, whatever the models are called', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'parley-models-'));
    const table = tableFile([
      modelOf(tinyRecogniser('guten tag'), { id: 'a-german', languages: ['de'] }),
      modelOf(tinyRecogniser('opening hours'), { id: 'english' }),
    ]);
    const open = await engines({ DATA_DIR: dataDir, MODELS_TABLE: table });
    put(dataDir, 'a-german', tinyRecogniser('guten tag'));
    put(dataDir, 'english', tinyRecogniser('opening hours'));
    expect(await heardBy(open.recognizerFor('local:auto', null)!)).toBe('opening hours');
    expect(await heardBy(open.callRecognizer('local:auto', 'fr')!)).toBe('opening hours');
  });

  it('speaks the next call in its language, and whenever its voice is asked for', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'parley-models-'));
    const table = tableFile([
      modelOf(tinyVoice('German', 24_000), { id: 'tiny-voice', kind: 'voice', languages: ['de'] }),
    ]);
    const open = await engines({ DATA_DIR: dataDir, MODELS_TABLE: table });
    put(dataDir, 'tiny-voice', tinyVoice('German', 24_000));
    const rates = async (voice: string, language: string) =>
      (
        await collect(
          open.callSynthesizer(voice, language).synthesise('guten tag.', { ...options(null), language }),
        )
      ).map(({ sampleRateHz, samples }) => [sampleRateHz, samples.length]);
    // Ten characters, one of them the blank between the words.
    expect(await rates('default', 'de')).toEqual([[24_000, 10 * SAMPLES_PER_LETTER]]);
    expect(await rates('local:tiny-voice', 'en')).toEqual([[24_000, 10 * SAMPLES_PER_LETTER]]);
    expect((await rates('default', 'en'))[0]?.[0]).toBe(16_000);
  });

  it('does not change the voice of a call in progress, and shares no cached phrase with its old voice', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'parley-models-'));
    const table = tableFile([
      modelOf(tinyVoice('German', 24_000), { id: 'tiny-voice', kind: 'voice', languages: ['de'] }),
    ]);
    const open = await engines({ DATA_DIR: dataDir, MODELS_TABLE: table });
    const greeting = { ...options(null), language: 'de', isFixed: true };
    const running = open.callSynthesizer('default', 'de');
    const before = await collect(running.synthesise('guten tag.', greeting));
    put(dataDir, 'tiny-voice', tinyVoice('German', 24_000));
    const after = await collect(running.synthesise('guten tag.', greeting));
    expect(after).toEqual(before.map((chunk) => ({ ...chunk, isKept: true })));
    const next = await collect(open.callSynthesizer('default', 'de').synthesise('guten tag.', greeting));
    expect(next.some(({ isKept }) => isKept)).toBe(false);
    const again = await collect(open.callSynthesizer('default', 'de').synthesise('guten tag.', greeting));
    expect(again).toEqual(next.map((chunk) => ({ ...chunk, isKept: true })));
  });
});

it('a damaged model fails its stream, not the process', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-models-'));
  const model = join(dataDir, 'models', 'damaged');
  mkdirSync(model, { recursive: true });
  for (const file of ['tokens.txt', 'encoder.onnx', 'decoder.onnx', 'joiner.onnx'])
    writeFileSync(join(model, file), '');
  const recognizer = (await engines({ DATA_DIR: dataDir })).recognizerFor('local:sherpa', 'en')!;
  // The second stream finds the process of the first one gone and starts another.
  for (let count = 0; count < 2; count++) {
    const heard = new Recording(recognizer, 8_000);
    heard.write(silence(8_000, 100));
    heard.stream.finalise();
    await heard.until('failed');
    expect(heard.events).toMatchObject([{ type: 'failed', error: { category: 'unavailable' } }]);
  }
});

describe('synthesis', () => {
  it('uses the requested voice, by its id here or by the engine’s own', async () => {
    const open = await engines();
    const rate = async (synthesizer: string, voiceId: string | null) =>
      (await collect(open.synthesizerFor(synthesizer).synthesise('Yes.', options(voiceId))))[0]?.sampleRateHz;
    expect(await rate('local:kal', null)).toBe(8_000);
    expect(await rate('local:kal', 'local:kal')).toBe(8_000);
    expect(await rate('default', 'kal')).toBe(8_000);
    for (const voice of ['default', 'local:slt', 'somebody', 'elevenlabs:x', ''])
      expect(await rate(voice, null), voice).toBe(16_000);
  });

  it('other languages use eSpeak NG without a key if it is installed, else the English voice', async () => {
    const open = await engines();
    const hasEspeak = detectEspeakVoices().length > 0;
    const german = { ...options(null), language: 'de' };
    const [chunk] = await collect(open.callSynthesizer('default', 'de').synthesise('Guten Tag.', german));
    expect(chunk?.sampleRateHz).toBe(hasEspeak ? 22_050 : 16_000);
    expect(
      (await collect(open.synthesizerFor('local:slt').synthesise('Guten Tag.', german)))[0]?.sampleRateHz,
    ).toBe(16_000);
    expect(open.describe()[0]).toContain(
      hasEspeak ? 'eSpeak NG for other languages' : 'npm run espeak for other languages',
    );
  });

  it('the platform’s provider is the default, and other providers’ voices are chosen by name', async () => {
    const vendor = await startOpenaiServer();
    opened.push(vendor);
    const open = await engines({ TTS_PROVIDER: 'openai', OPENAI_BASE_URL: vendor.url });
    await collect(open.synthesizerFor('default').synthesise('Hi.', options('default')));
    await collect(open.synthesizerFor('openai:nova').synthesise('Hi.', options(null)));
    expect(vendor.requests.map((request) => request.json?.['voice'])).toEqual(['alloy', 'nova']);
    expect(open.synthesizerFor('local:rms').id).toBe('local');
    expect(open.describe()[0]).toBe('Speech synthesis: openai');
  });
});
