import { expect, it } from 'vitest';
import { systemClock } from '#config/clock.ts';
import { readSettings } from '#config/env.ts';
import type { SpeakOptions } from '#media/speech/pool/speech-jobs.ts';
import { createSpeechPool, type SpeechSlot } from '#media/speech/pool/speech-pool.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

/** Places for streams, and one that is free again. No thread starts for it. */
function places(environment: Record<string, string>, cores: number): number {
  const pool = createSpeechPool({ settings: readSettings(environment), searchPath: '', cores, clock: systemClock });
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

const OPTIONS: SpeakOptions = {
  output: { format: 'pcm', sampleRateHz: 16_000 },
  language: 'en',
  speed: 1,
  volumeDb: 0,
  normalizeLoudness: false,
  chunkLength: 200,
  latency: 'normal',
};

/** A pool of two threads for speech; each is stuck for ever once it is to say "hang". */
function stuckPool(clock: ManualClock) {
  return createSpeechPool({ settings: readSettings({}), searchPath: '', cores: 1, clock, program: new URL('./stuck-thread.ts', import.meta.url) });
}

async function piecesOf(slot: SpeechSlot | null, text: string): Promise<number> {
  const speaking = slot?.speak(OPTIONS, new AbortController().signal);
  speaking?.say({ text, voiceId: null });
  speaking?.end();
  let pieces = 0;
  for await (const _ of speaking ?? []) pieces += 1;
  return pieces;
}

it('security 6: a thread that gives no sign of life for 10 s is ended and replaced; what it had fails, and other threads go on', async () => {
  const clock = new ManualClock();
  const pool = stuckPool(clock);
  const [stuck, fine] = [pool.take('synthesis'), pool.take('synthesis')];
  expect([await piecesOf(stuck, 'a'), await piecesOf(fine, 'a')]).toEqual([1, 1]);
  const hanging = piecesOf(stuck, 'hang').catch((error: Error) => error.message);
  for (let seconds = 0; seconds < 12.5; seconds += 2.5) {
    expect(await piecesOf(fine, 'a')).toBe(1);
    await clock.advance(2_500);
  }
  expect(await hanging).toBe('The speech engine stopped: it gave no sign of life for 10 s');
  expect([await piecesOf(stuck, 'a'), await piecesOf(fine, 'a')]).toEqual([1, 1]);
  await pool.close();
});

it('security 6: closing does not wait for a thread that hangs', async () => {
  const clock = new ManualClock();
  const pool = stuckPool(clock);
  const hanging = piecesOf(pool.take('synthesis'), 'hang').catch((error: Error) => error.message);
  const closed = pool.close();
  await clock.advance(5_000);
  await closed;
  expect(await hanging).toContain('The speech engine stopped');
});
