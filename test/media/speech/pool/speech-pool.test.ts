import { expect, it } from 'vitest';
import { readSettings } from '#config/env.ts';
import { createSpeechPool, type SpeechSlot } from '#media/speech/pool/speech-pool.ts';

/** Places for streams, and one that is free again. No thread starts for it. */
function places(environment: Record<string, string>, cores: number): number {
  const pool = createSpeechPool({ settings: readSettings(environment), searchPath: '', cores });
  const slots: SpeechSlot[] = [];
  for (let slot = pool.take('synthesis'); slot; slot = pool.take('synthesis')) slots.push(slot);
  slots[0]?.release();
  slots[0]?.release();
  expect([pool.take('synthesis'), pool.take('synthesis')]).toEqual([expect.anything(), null]);
  return slots.length;
}

it.each([
  ['the local voice', {}, 1, 6],
  ['the local voice', {}, 2, 12],
  ['the local voice', {}, 16, 80],
  ['a vendor’s voice', { TTS_PROVIDER: 'openai', OPENAI_API_KEY: 'k' }, 2, 40],
])('with %s a machine takes as many streams as it can keep in real time: %o, %i cores, %i streams', (_, environment, cores, streams) => {
  expect(places(environment, cores)).toBe(streams);
});
