import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createDeepgramRecognizer } from '#media/speech/vendors/deepgram.ts';
import { createDeepgramSynthesizer } from '#media/speech/vendors/deepgram-speech.ts';
import { collect } from '#test/collect.ts';
import { type DeepgramSpeechServer, startDeepgramSpeechServer } from '#test/fakes/deepgram-speech-server.ts';
import { saidTo, speak, vendorSynthesizerConforms } from './vendor-conformance.ts';

describe('Deepgram’s synthesis', () => {
  const { begin } = vendorSynthesizerConforms(startDeepgramSpeechServer, createDeepgramSynthesizer);

  it('uses a voice of the language when none is named', async () => {
    const { server, synthesizer } = await begin();
    for (const language of ['en', 'de', 'sv'])
      await collect(speak(synthesizer, 'Ja.', undefined, { language }));
    const models = saidTo(server).map(({ query }) => query.get('model'));
    expect(models.sort()).toEqual(['aura-2-aurelia-de', 'aura-2-thalia-en', 'aura-2-thalia-en']);
  });

  it('speaks faster and slower within the limits of the vendor', async () => {
    const { server, synthesizer } = await begin();
    for (const speed of [1, 1.2, 2, 0.5]) await collect(speak(synthesizer, 'Yes.', undefined, { speed }));
    expect(saidTo(server).map(({ query }) => query.get('speed'))).toEqual([null, '1.2', '1.5', '0.7']);
  });

  it('sends a long text in pieces the vendor accepts', async () => {
    const { server, synthesizer } = await begin();
    await collect(speak(synthesizer, 'word '.repeat(500)));
    const spoken = saidTo(server)[0]!
      .messages.filter(({ type }) => type === 'Speak')
      .map(({ text }) => String(text));
    expect(spoken.join('')).toBe('word '.repeat(500));
    expect(Math.max(...spoken.map((text) => text.length))).toBeLessThanOrEqual(2_000);
  });

  it('a warning instead of audio fails the text', async () => {
    const { server, synthesizer } = await begin();
    server.warning = 'too many flushes';
    await expect(collect(speak(synthesizer, 'Hi.'))).rejects.toMatchObject({
      category: 'unavailable',
      message: 'Deepgram: too many flushes',
    });
  });
});

describe('Deepgram’s recognition of recordings', () => {
  const opened: DeepgramSpeechServer[] = [];
  afterEach(async () => {
    for (const server of opened.splice(0)) await server.close();
  });
  const utterances = [
    { start: 0.5, end: 1.25, transcript: 'Guten Tag.', speaker: 0 },
    { start: 1.5, end: 2, transcript: 'Hallo.', speaker: 1 },
  ];
  const begin = async () => {
    const server = await startDeepgramSpeechServer({ utterances });
    opened.push(server);
    return {
      server,
      recognizer: createDeepgramRecognizer('nova-3', {
        baseUrl: server.url,
        apiKey: undefined,
        clock: systemClock,
      }),
    };
  };
  const request = (over: { language?: string | null; diarize?: boolean; signal?: AbortSignal } = {}) => ({
    samples: new Int16Array(16_000),
    sampleRateHz: 16_000,
    language: null,
    diarize: false,
    signal: new AbortController().signal,
    ...over,
  });

  it('is one request, with language detection and speaker labels on request', async () => {
    const { server, recognizer } = await begin();
    expect(await recognizer.transcribe!(request({ diarize: true }))).toEqual({
      stretches: [
        { text: 'Guten Tag.', startMs: 500, endMs: 1_250, speaker: 0 },
        { text: 'Hallo.', startMs: 1_500, endMs: 2_000, speaker: 1 },
      ],
      language: 'de',
    });
    const alone = await recognizer.transcribe!(request({ language: 'en' }));
    expect(alone.stretches.map(({ speaker }) => speaker)).toEqual([null, null]);
    expect(alone.language).toBeNull();
    expect(server.recordings.map(({ query }) => [query.get('diarize'), query.get('language')])).toEqual([
      ['true', null],
      [null, 'en'],
    ]);
    expect(server.recordings[0]?.bytes).toBe(44 + 32_000);
  });

  it('maps the vendor’s errors, and fails at once when aborted', async () => {
    const { server, recognizer } = await begin();
    server.fault = { status: 429 };
    await expect(recognizer.transcribe!(request())).rejects.toMatchObject({ category: 'overloaded' });
    server.fault = { halfOpen: 'answers' };
    const stop = new AbortController();
    const failed = expect(recognizer.transcribe!(request({ signal: stop.signal }))).rejects.toThrow('gone');
    stop.abort(new Error('gone'));
    await failed;
  });
});
