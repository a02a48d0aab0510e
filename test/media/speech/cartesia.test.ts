import { describe, expect, it } from 'vitest';
import { createCartesiaSynthesizer } from '#media/speech/vendors/cartesia.ts';
import { collect } from '#test/collect.ts';
import { startCartesiaServer } from '#test/fakes/cartesia-server.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { speak, timedWords, vendorSynthesizerConforms } from './vendor-conformance.ts';

describe('Cartesia', () => {
  const { begin } = vendorSynthesizerConforms(startCartesiaServer, createCartesiaSynthesizer);

  it('reports times for every word, including those received after the audio', async () => {
    const { synthesizer } = await begin();
    const text = 'The the cat, “the” cat sat.';
    const words = timedWords(text, await collect(speak(synthesizer, text)));
    expect(words).toEqual(text.split(' ').map((word, index) => [word, index * 100]));
  });

  it('runs all syntheses over one socket, and keeps them apart', async () => {
    const { server, synthesizer } = await begin();
    const texts = ['One.', 'One two three four five six.', 'One two.'];
    const spoken = await Promise.all(
      texts.map(async (text) => timedWords(text, await collect(speak(synthesizer, text)))),
    );
    expect(spoken.map((words) => words.map(([word]) => word).join(' '))).toEqual(texts);
    expect(server.connections).toHaveLength(1);
  });

  it('cancels an aborted context, and closes an unused socket', async () => {
    const clock = new ManualClock();
    const { server, synthesizer } = await begin(clock);
    const stop = new AbortController();
    const run = async () => {
      for await (const _ of speak(synthesizer, 'word '.repeat(200), stop.signal))
        stop.abort(new Error('interrupted'));
    };
    await expect(run()).rejects.toThrow('interrupted');
    await expect
      .poll(() => server.connections[0]?.messages.at(-1)?.['cancel'], { timeout: 20_000 })
      .toBe(true);
    await clock.advance(240_001);
    await expect.poll(() => server.connections[0]?.isOpen, { timeout: 20_000 }).toBe(false);
  });

  it('sends the requested emotion', async () => {
    const { server, synthesizer } = await begin();
    const options = {
      voiceId: null,
      language: 'en',
      speed: 1,
      sampleRateHz: 16_000,
      signal: new AbortController().signal,
    };
    await collect(synthesizer.synthesise('Congratulations!', { ...options, emotion: 'happy' }));
    await collect(synthesizer.synthesise('Thank you.', options));
    expect(server.connections[0]?.messages.map((message) => message['generation_config'])).toEqual([
      { speed: 1, emotion: 'happy' },
      { speed: 1 },
    ]);
  });

  it('an error in one context does not affect the others', async () => {
    const { server, synthesizer } = await begin();
    server.refusal = {
      status_code: 400,
      title: 'Invalid voice',
      message: 'No such voice.',
      error_code: 'voice_not_found',
    };
    await expect(collect(speak(synthesizer, 'Hi.'))).rejects.toMatchObject({
      category: 'bad_request',
      message: 'Cartesia: No such voice.',
    });
    server.refusal = null;
    expect(await collect(speak(synthesizer, 'Hi.'))).not.toEqual([]);
    expect(server.connections).toHaveLength(1);
  });
});
