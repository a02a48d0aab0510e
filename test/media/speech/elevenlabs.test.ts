import { afterEach, describe, expect, it } from 'vitest';
import { readSettings } from '#config/env.ts';
import { createElevenlabsSynthesizer } from '#media/speech/vendors/elevenlabs.ts';
import { voiceCloning } from '#media/speech/voice-cloning.ts';
import { collect } from '#test/collect.ts';
import { type ElevenlabsServer, startElevenlabsServer } from '#test/fakes/elevenlabs-server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { saidTo, speak, timedWords, vendorSynthesizerConforms } from './vendor-conformance.ts';

describe('ElevenLabs', () => {
  const { begin } = vendorSynthesizerConforms(startElevenlabsServer, createElevenlabsSynthesizer);

  it('reports times for every word of the text, even when chunks split words', async () => {
    const { synthesizer } = await begin();
    const text = 'It costs “12.50” euros, doesn’t it?';
    const words = timedWords(text, await collect(speak(synthesizer, text)));
    expect(words.map(([word]) => word)).toEqual(text.split(' '));
    for (const [index, [word, startMs]] of words.entries()) {
      const msPerChar = 600 / (text.length + 1);
      expect(Math.abs(startMs - text.indexOf(word) * msPerChar), `${index} ${word}`).toBeLessThanOrEqual(2);
    }
  });

  it('requests the voice, the language, the rate and a speed the vendor supports', async () => {
    const { server, synthesizer } = await begin();
    await collect(speak(synthesizer, 'Hallo.', undefined, { voiceId: 'abc', language: 'de', speed: 2 }));
    const [first] = saidTo(server);
    expect(first?.path).toBe('/v1/text-to-speech/abc/stream-input');
    expect(Object.fromEntries(first!.query)).toMatchObject({
      language_code: 'de',
      output_format: 'pcm_16000',
    });
    expect(first?.messages).toEqual([
      { text: ' ', voice_settings: { speed: 1.2 } },
      { text: 'Hallo. ' },
      { text: '' },
    ]);
  });

  it('opens the next socket in advance, and closes it when unused', async () => {
    const clock = new ManualClock();
    const { server, synthesizer } = await begin(clock);
    await collect(speak(synthesizer, 'One.'));
    await expect.poll(() => server.connections.length, { timeout: 20_000 }).toBe(2);
    await collect(speak(synthesizer, 'Two.'));
    expect(saidTo(server)).toHaveLength(2);
    await expect.poll(() => server.connections.length, { timeout: 20_000 }).toBe(3);
    await clock.advance(150_001);
    await expect
      .poll(() => server.connections.filter(({ isOpen }) => isOpen), { timeout: 20_000 })
      .toEqual([]);
  });

  it.each([
    ['quota_exceeded', 'quota'],
    ['invalid_api_key', 'authentication'],
    ['system_busy', 'overloaded'],
    ['voice_id_does_not_exist', 'bad_request'],
  ])('an error named %s is %s', async (error, category) => {
    const { server, synthesizer } = await begin();
    server.refusal = { error, message: 'No.' };
    await expect(collect(speak(synthesizer, 'Hi.'))).rejects.toMatchObject({
      category,
      message: 'ElevenLabs: No.',
    });
  });

  it('a close in the middle of the audio is a failure, not an end', async () => {
    const { server, synthesizer } = await begin();
    server.breaksOff = true;
    await expect(collect(speak(synthesizer, 'A longer sentence than one chunk.'))).rejects.toMatchObject({
      category: 'connectivity',
    });
  });
});

describe('voices from samples', () => {
  const opened: ElevenlabsServer[] = [];
  afterEach(async () => {
    for (const server of opened.splice(0)) await server.close();
  });
  const signal = new AbortController().signal;
  const cloning = (environment: Record<string, string>) =>
    voiceCloning(readSettings({ TTS_PROVIDER: 'elevenlabs', ...environment }));

  it('are created and deleted; deleting a missing one is not a failure', async () => {
    const server = await startElevenlabsServer({ apiKey: 'k' });
    opened.push(server);
    const access = { ELEVENLABS_BASE_URL: server.url, ELEVENLABS_API_KEY: 'k' };
    const voice = await cloning(access)!.clone({
      name: 'Ann',
      samples: [Buffer.from('sample one'), Buffer.from('sample two')],
      signal,
    });
    expect(voice).toBe('elevenlabs:clone1');
    expect(server.voices.get('clone1')?.form).toMatch(
      /name="name"[\s\S]*Ann[\s\S]*name="files"[\s\S]*sample one[\s\S]*name="files"[\s\S]*sample two/,
    );
    await cloning(access)!.forget(voice);
    expect(server.voices.size).toBe(0);
    await cloning(access)!.forget(voice);
    await expect(cloning({ ...access, ELEVENLABS_API_KEY: 'x' })!.forget(voice)).rejects.toMatchObject({
      category: 'authentication',
    });
    server.fault = { status: 429 };
    await expect(cloning(access)!.clone({ name: 'Ann', samples: [], signal })).rejects.toMatchObject({
      category: 'overloaded',
    });
  });

  it('are unavailable from other engines', () => {
    expect(cloning({ TTS_PROVIDER: 'local', ELEVENLABS_API_KEY: 'k' })).toBeNull();
  });
});
