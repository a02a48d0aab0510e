import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FliteSynthesizer, openFlite } from '#media/speech/local/flite.ts';
import { collect } from '#test/collect.ts';
import { synthesizerConforms } from './conformance.ts';

let flite: FliteSynthesizer;
beforeAll(async () => {
  flite = await openFlite();
});
afterAll(() => flite.close());

const speak = (text: string, over: { voiceId?: string; speed?: number; signal?: AbortSignal } = {}) =>
  flite.synthesise(text, {
    voiceId: null,
    language: 'en',
    speed: 1,
    sampleRateHz: 16_000,
    signal: new AbortController().signal,
    ...over,
  });

async function durationMs(text: string, over: { voiceId?: string; speed?: number } = {}) {
  return (await collect(speak(text, over))).reduce(
    (sum, chunk) => sum + (chunk.samples.length * 1_000) / chunk.sampleRateHz,
    0,
  );
}

describe('conformance', () => {
  synthesizerConforms(async () => flite);
});

describe('flite', () => {
  it('makes one chunk per sentence, and maps every word to the requested text', async () => {
    const text = 'Hello there. I would like a “table” for 2 people!';
    const chunks = await collect(speak(text));
    expect(chunks).toHaveLength(2);
    const words = chunks.flatMap((chunk) => chunk.words ?? []);
    expect(words.map((word) => text.slice(word.textStart, word.textEnd))).toEqual(text.split(' '));
    for (const [index, word] of words.entries()) {
      expect(word.endMs).toBeGreaterThan(word.startMs);
      if (index > 0) expect(word.startMs).toBeGreaterThanOrEqual(words[index - 1]!.endMs - 1);
    }
  });

  it('word times match the audio: silence between sentences lies between the words', async () => {
    const chunks = await collect(speak('One. Two.'));
    const second = chunks[1]!;
    const startMs = (chunks[0]!.samples.length * 1_000) / 16_000;
    const word = second.words![0]!;
    const energyBefore = rms(second.samples.subarray(0, ((word.startMs - startMs) * 16) | 0));
    const energyInside = rms(
      second.samples.subarray(((word.startMs - startMs) * 16) | 0, ((word.endMs - startMs) * 16) | 0),
    );
    expect(energyInside).toBeGreaterThan(8 * energyBefore);
  });

  it('starts with sound, not with a pause', async () => {
    const [first] = await collect(speak('Yes.'));
    expect(first?.words?.[0]?.startMs).toBeLessThanOrEqual(25);
  });

  it('speaks faster and slower', async () => {
    const normal = await durationMs('What are your opening hours?');
    expect(await durationMs('What are your opening hours?', { speed: 2 })).toBeLessThan(0.65 * normal);
    expect(await durationMs('What are your opening hours?', { speed: 0.5 })).toBeGreaterThan(1.6 * normal);
  });

  it('has five voices, one of them at 8 kHz, and uses the default for unknown names', async () => {
    for (const voice of flite.voices) {
      const [chunk] = await collect(speak('Yes.', { voiceId: voice.id }));
      expect(chunk?.sampleRateHz, voice.id).toBe(voice.id === 'kal' ? 8_000 : 16_000);
    }
    expect(await durationMs('Yes.', { voiceId: 'nobody' })).toBe(
      await durationMs('Yes.', { voiceId: 'slt' }),
    );
  });

  it('emits nothing for text without a letter or digit', async () => {
    expect(await collect(speak('… 🎉 —'))).toEqual([]);
  });

  it('stops between sentences when aborted, and withdraws queued requests', async () => {
    const abort = new AbortController();
    const long = 'One sentence. '.repeat(40);
    const waiting = collect(speak(long, { signal: abort.signal }));
    const seen: unknown[] = [];
    const run = async () => {
      for await (const chunk of speak(long, { signal: abort.signal })) {
        seen.push(chunk);
        abort.abort(new Error('interrupted'));
      }
    };
    await expect(run()).rejects.toThrow('interrupted');
    await expect(waiting).rejects.toThrow('interrupted');
    expect(seen).toHaveLength(1);
    expect(await durationMs('Still here.')).toBeGreaterThan(300);
  });

  it('answers requests in order without mixing them up', async () => {
    const lengths = await Promise.all(
      ['One.', 'One hundred and twenty three thousand.', 'One.'].map((text) => durationMs(text)),
    );
    expect(lengths[0]).toBe(lengths[2]);
    expect(lengths[1]).toBeGreaterThan(2 * lengths[0]!);
  });
});

function rms(samples: Int16Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length));
}
