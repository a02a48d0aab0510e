import { describe, expect, it } from 'vitest';
import type { SpeechChunk } from '#media/speech/speech.ts';
import { collect } from '#test/collect.ts';
import { startJambonzServer } from '#test/fakes/jambonz-server.ts';
import { startOpenaiServer } from '#test/fakes/openai-server.ts';
import { synthesizerConforms } from '../conformance.ts';
import { speak, vendorsOf } from '../vendor-conformance.ts';
import { ownVoice } from './own-engines.ts';

const vendor = vendorsOf(startJambonzServer);
const openai = vendorsOf(startOpenaiServer);
const TEXT = 'Good morning, how can I help?';

const milliseconds = (chunks: readonly SpeechChunk[]) =>
  chunks.reduce((sum, { samples, sampleRateHz }) => sum + (samples.length * 1_000) / sampleRateHz, 0);

const KINDS = ['audio/l16;rate=16000', 'audio/wav', 'audio/mpeg'];

for (const contentType of KINDS) {
  describe(`an own voice with jambonz’ protocol and ${contentType}: conformance`, () => {
    synthesizerConforms(async () => ownVoice({ url: (await vendor({ contentType, pieceMs: 5 })).ttsUrl }));
  });
}

describe('an own voice with OpenAI’s protocol: conformance', () => {
  synthesizerConforms(async () =>
    ownVoice({ protocol: 'openai', url: (await openai({ wordMs: 50, pieceMs: 5 })).url }),
  );
});

describe('an own voice with jambonz’ protocol', () => {
  it('posts the documented request with the key', async () => {
    const { ttsUrl: url, texts } = await vendor({ apiKey: 'k' });
    await collect(speak(ownVoice({ url, api_key: 'k', voice: 'ann', language: 'en-GB' }), TEXT));
    expect(texts).toMatchObject([
      { body: { language: 'en-GB', voice: 'ann', type: 'text', text: TEXT }, isAborted: false },
    ]);
  });

  it('speaks the language of the agent unless one is configured, and with its own voice only', async () => {
    const { ttsUrl: url, texts } = await vendor();
    await collect(speak(ownVoice({ url }), TEXT, undefined, { language: 'de', voiceId: 'openai:nova' }));
    expect(texts[0]?.body).toEqual({ language: 'de', voice: '', type: 'text', text: TEXT });
  });

  it.each(['audio/l16;rate=16000', 'audio/L16; rate=16000; channels=1', 'audio/wav', 'audio/x-wav'])(
    'no sample is lost, doubled or swapped in %s',
    async (contentType) => {
      const { ttsUrl: url } = await vendor({ contentType, pieceMs: 5 });
      const chunks = await collect(speak(ownVoice({ url }), TEXT));
      const samples = Int16Array.from(chunks.flatMap((chunk) => [...chunk.samples]));
      expect(samples).toHaveLength(16_000 * 0.6);
      expect(samples).toEqual(samples.map((_, index) => Math.round(4_000 * Math.sin(index / 5))));
      expect(chunks.length).toBeGreaterThan(1);
    },
  );

  it('an MP3 has the length of the speech', async () => {
    const { ttsUrl: url } = await vendor({ contentType: 'audio/mpeg' });
    const chunks = await collect(speak(ownVoice({ url }), TEXT));
    expect(Math.abs(milliseconds(chunks) - 600)).toBeLessThan(200);
  });

  it('audio arrives while the server still sends', async () => {
    const { ttsUrl: url, texts } = await vendor({ pieceMs: 20 });
    const stop = new AbortController();
    const first = await speak(ownVoice({ url }), TEXT.repeat(20), stop.signal)[Symbol.asyncIterator]().next();
    expect((first.value as SpeechChunk).samples.length).toBeLessThan(16_000);
    stop.abort(new Error('interrupted'));
    await expect.poll(() => texts[0]?.isAborted).toBe(true);
  });

  it('a reader that leaves ends the request', async () => {
    const { ttsUrl: url, texts } = await vendor({ pieceMs: 20 });
    for await (const _ of speak(ownVoice({ url }), TEXT.repeat(20))) break;
    await expect.poll(() => texts[0]?.isAborted).toBe(true);
  });

  it.each([
    [401, 'authentication', false],
    [402, 'quota', false],
    [429, 'overloaded', true],
    [500, 'unavailable', false],
  ])('a refusal with HTTP %i is %s, retryable: %s', async (status, category, retryable) => {
    const server = await vendor();
    server.fault = { status };
    await expect(collect(speak(ownVoice({ url: server.ttsUrl }), TEXT))).rejects.toMatchObject({
      name: 'SpeechError',
      category,
      retryable,
      message: `The agent’s own speech server answered HTTP ${status}`,
    });
  });

  it('an unreachable address is a connectivity failure', async () => {
    const server = await vendor();
    await server.close();
    await expect(collect(speak(ownVoice({ url: server.ttsUrl }), TEXT))).rejects.toMatchObject({
      category: 'connectivity',
      retryable: true,
    });
  });
});

describe('an own voice with OpenAI’s protocol', () => {
  it('posts the documented request to the base address', async () => {
    const server = await openai({ apiKey: 'k' });
    const own = { protocol: 'openai', url: server.url, api_key: 'k', model: 'kokoro', voice: 'af' } as const;
    const chunks = await collect(speak(ownVoice(own), 'one two', undefined, { speed: 1.25 }));
    expect(server.requests[0]).toMatchObject({
      path: '/v1/audio/speech',
      json: { model: 'kokoro', voice: 'af', input: 'one two', response_format: 'pcm', speed: 1.25 },
    });
    expect(milliseconds(chunks)).toBe(400);
    expect(chunks[0]?.sampleRateHz).toBe(24_000);
  });

  it('an answer that names no rate has the configured one', async () => {
    const { url } = await openai();
    const own = ownVoice({ protocol: 'openai', url, sample_rate_hz: 16_000 });
    expect((await collect(speak(own, 'one')))[0]?.sampleRateHz).toBe(16_000);
  });
});
