import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Clock } from '#base/clock.ts';
import { SPEAKING_LANGUAGES } from '#config/languages.ts';
import { createEspeak, detectEspeakVoices, type EspeakSynthesizer } from '#media/speech/local/espeak.ts';
import { collect } from '#test/collect.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { describeInstalled } from '#test/needs.ts';
import { synthesizerConforms } from './conformance.ts';
import { patientClock, speak } from './vendor-conformance.ts';

const opened: EspeakSynthesizer[] = [];
afterEach(async () => {
  for (const engine of opened.splice(0)) await engine.close();
});

/** The engine with another program as its process. */
function espeakWith(source: string, clock: Clock = patientClock): EspeakSynthesizer {
  const file = join(mkdtempSync(join(tmpdir(), 'parley-espeak-')), 'program.mjs');
  writeFileSync(file, source);
  const engine = createEspeak(clock, file);
  opened.push(engine);
  return engine;
}

const say = async (
  engine: EspeakSynthesizer,
  text: string,
  over: { language?: string; voiceId?: string; speed?: number } = {},
) => collect(speak(engine, text, new AbortController().signal, { language: 'de', ...over }));
const durationMs = (chunks: Awaited<ReturnType<typeof say>>) =>
  chunks.reduce((sum, { samples, sampleRateHz }) => sum + (samples.length * 1_000) / sampleRateHz, 0);

describeInstalled(detectEspeakVoices().length > 0, 'eSpeak NG (npm run espeak)')('eSpeak NG', () => {
  // One process for all tests: it takes a second to load its voices.
  const engine = createEspeak(patientClock);
  afterAll(() => engine.close());

  describe('conformance', () => {
    synthesizerConforms(async () => engine);
  });

  it('reports each word of the text at its time, across sentences, symbols and emoji', async () => {
    const text = 'Guten Tag, hier ist <Café> Müller & Söhne! 🎉 Der Tisch für 4 Personen ist frei.';
    const chunks = await say(engine, text);
    expect(chunks).toHaveLength(2);
    const words = chunks.flatMap((chunk) => chunk.words ?? []);
    expect(words.map(({ textStart, textEnd }) => text.slice(textStart, textEnd))).toEqual([
      'Guten',
      'Tag',
      'hier',
      'ist',
      'Café',
      'Müller',
      'Söhne',
      'Der',
      'Tisch',
      'für',
      '4',
      'Personen',
      'ist',
      'frei',
    ]);
    for (const [index, { startMs, endMs }] of words.entries()) {
      expect(endMs).toBeGreaterThan(startMs);
      expect(startMs).toBeGreaterThanOrEqual(words[index - 1]?.endMs ?? 0);
    }
    expect(words.at(-1)!.endMs).toBeLessThanOrEqual(durationMs(chunks));
    expect(words[7]!.startMs).toBeGreaterThanOrEqual(durationMs(chunks.slice(0, 1)));
  });

  it('uses a distinct voice for each language', async () => {
    const said = new Set<string>();
    for (const { id, languages } of engine.voices) {
      const chunks = await say(engine, 'Parley 42', { language: languages[0]! });
      expect(durationMs(chunks), id).toBeGreaterThan(300);
      said.add(Buffer.from(chunks[0]!.samples.buffer).toString('base64'));
    }
    expect(engine.voices.map(({ languages }) => languages[0])).toEqual(
      SPEAKING_LANGUAGES.filter((language) => !['tl', 'ja', 'th', 'he'].includes(language)),
    );
    // A few related languages share a voice's sounds; a missing voice would sound like the previous one.
    expect(said.size).toBeGreaterThan(0.9 * engine.voices.length);
  });

  it.each([
    ['fr', 'Bonjour, comment puis-je vous aider ?'],
    ['ru', 'Добрый день, чем могу помочь?'],
    ['ar', 'مرحبا كيف يمكنني مساعدتك'],
    ['hi', 'नमस्ते, मैं आपकी क्या सहायता कर सकता हूँ?'],
    ['zh', '你好，我能帮您什么？'],
    ['ko', '안녕하세요, 무엇을 도와드릴까요?'],
  ])('reads the script of %s', async (language, text) => {
    const chunks = await say(engine, text, { language });
    expect(durationMs(chunks)).toBeGreaterThan(1_000);
    for (const { textStart, textEnd } of chunks.flatMap(({ words }) => words ?? []))
      expect(text.slice(textStart, textEnd)).toMatch(/^\S+$/);
  });

  it('speaks faster and slower, and with the requested voice', async () => {
    const text = 'Wie kann ich Ihnen helfen?';
    const usual = durationMs(await say(engine, text));
    expect(durationMs(await say(engine, text, { speed: 2 }))).toBeLessThan(0.65 * usual);
    expect(durationMs(await say(engine, text, { speed: 0.5 }))).toBeGreaterThan(1.5 * usual);
    const [chosen, french] = [
      await say(engine, text, { voiceId: 'espeak-fr' }),
      await say(engine, text, { language: 'fr' }),
    ];
    // To a millisecond: no two utterances are exactly alike.
    expect(Math.abs(durationMs(chosen) - durationMs(french))).toBeLessThan(5);
    expect(Math.abs(durationMs(chosen) - usual)).toBeGreaterThan(50);
  });
});

describe('the program behind the pipe', () => {
  it('is restarted when it dies, which loses only the current sentence', async () => {
    const engine = espeakWith(`process.stdin.once('data', () => process.exit(3));`);
    for (let life = 0; life < 2; life++)
      await expect(say(engine, 'Ja.')).rejects.toMatchObject({
        name: 'SpeechError',
        category: 'unavailable',
        retryable: true,
      });
    await engine.close();
    await expect(say(engine, 'Ja.')).rejects.toMatchObject({
      category: 'unavailable',
      message: 'The engine is closed',
    });
  });

  it('is killed when it hangs', async () => {
    const clock = new ManualClock();
    const engine = espeakWith('setInterval(() => {}, 1e6); process.stdin.resume();', clock);
    const failed = expect(say(engine, 'Ja.')).rejects.toMatchObject({ category: 'unavailable' });
    await clock.advance(8_001);
    await failed;
    expect(clock.pendingTimers).toBe(0);
  });

  it('is reported when it sends an invalid answer, and the next sentence succeeds', async () => {
    const engine = espeakWith(`
      let count = 0;
      process.stdin.on('data', () => console.log(count++ === 0 ? '{"samples": 7}' : '{"sampleRateHz": 8000, "samples": "AQACAA==", "words": [[0, 2, 0, 1]]}'));
    `);
    await expect(say(engine, 'Ja.')).rejects.toMatchObject({
      category: 'unavailable',
      message: 'eSpeak failed: an answer in an unexpected format',
    });
    expect(await say(engine, 'Ja.')).toEqual([
      {
        samples: Int16Array.of(1, 2),
        sampleRateHz: 8_000,
        words: [{ textStart: 0, textEnd: 2, startMs: 0, endMs: 1 }],
      },
    ]);
  });

  it('is started before the first sentence of an expected call, without access to our secrets', async () => {
    const mark = join(mkdtempSync(join(tmpdir(), 'parley-espeak-')), 'started');
    const engine = espeakWith(`
      import { writeFileSync } from 'node:fs';
      writeFileSync(${JSON.stringify(mark)}, '');
      process.stdin.on('data', () => console.log(JSON.stringify({ error: Object.keys(process.env).join() + '.' })));
    `);
    engine.prepare?.({ voiceId: null, language: 'de', speed: 1, sampleRateHz: 8_000 });
    await expect.poll(() => existsSync(mark), { timeout: 60_000 }).toBe(true);
    await expect(say(engine, 'Ja.')).rejects.toThrow('eSpeak failed: .');
  });
});
