import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { detectLocalRecognition, openSpeechEngines, type SpeechEngines } from '#media/speech/engines.ts';
import { detectEspeakVoices } from '#media/speech/local/espeak.ts';
import { collect } from '#test/collect.ts';
import { startOpenaiServer } from '#test/fakes/openai-server.ts';
import { itNeeds } from '#test/needs.ts';
import { Recording, silence } from './conformance.ts';

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
    expect(open.recognizerFor('local:auto')).toBeNull();
    const lines = open.describe().join('\n');
    expect(lines).toMatch(/keypad/);
    expect(lines).toMatch(/pocketsphinx/);
    expect(detectLocalRecognition({ dataDir: '/nowhere', searchPath: '/nowhere' })).toEqual([]);
  });

  itNeeds(['pocketsphinx_continuous'])(
    'uses an installed pocketsphinx, even for an unknown model',
    async () => {
      const open = await engines({}, process.env['PATH']);
      for (const id of ['local:auto', 'local:pocketsphinx', 'nobody:knows', ''])
        expect(open.recognizerFor(id)?.id, id).toBe('local:pocketsphinx');
      expect(open.describe()).toContain('Speech recognition: local:pocketsphinx');
    },
  );

  it('uses a configured vendor for any of its models, and for unknown ones if it is the platform’s provider', async () => {
    const open = await engines({ ASR_PROVIDER: 'deepgram', DEEPGRAM_BASE_URL: 'ws://127.0.0.1:1' });
    expect(open.recognizerFor('deepgram:nova-2')?.id).toBe('deepgram:nova-2');
    expect(open.recognizerFor('openai:whisper-1')?.id).toBe('deepgram:nova-3');
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
    expect(detectLocalRecognition({ dataDir, searchPath: '' })).toEqual([]);
    writeFileSync(join(model, 'joiner.onnx'), '');
    expect(detectLocalRecognition({ dataDir, searchPath: '' })).toEqual(['sherpa']);
    expect((await engines({ DATA_DIR: dataDir })).recognizerFor('local:auto')?.id).toBe('local:sherpa');
  });
});

it('a damaged model fails its stream, not the process', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-models-'));
  const model = join(dataDir, 'models', 'damaged');
  mkdirSync(model, { recursive: true });
  for (const file of ['tokens.txt', 'encoder.onnx', 'decoder.onnx', 'joiner.onnx'])
    writeFileSync(join(model, file), '');
  const recognizer = (await engines({ DATA_DIR: dataDir })).recognizerFor('local:sherpa')!;
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
