/**
 * Required records of every finished conversation: a waterfall that adds up, and a recording of both sides.
 */
import { expect } from 'vitest';
import { voicedSeconds } from '#caller/voiced.ts';
import { parseWav } from '#caller/wav.ts';
import type { Product } from './product.ts';

const PARTS = [
  'endpoint_ms',
  'transcript_ms',
  'first_token_ms',
  'first_sentence_ms',
  'first_audio_ms',
  'playout_ms',
];

/** The parts of a turn's latency sum to the whole. */
export function expectWaterfall(turn: Record<string, number>): void {
  const sum = PARTS.reduce((total, name) => total + (turn[name] ?? Number.NaN), 0);
  expect(Math.abs(sum - (turn['total_ms'] ?? 0))).toBeLessThan(1);
  expect(turn['total_ms']).toBeGreaterThan(0);
}

/** Both tracks can be fetched by their signed addresses and contain this much voice. */
export async function expectRecorded(
  product: Product,
  sessionId: string,
  seconds: { readonly agent: number; readonly user: number },
): Promise<void> {
  const read = () => product.ask('GET', `/v1/agent/sessions/${sessionId}/recording`);
  await product.until('the recording is complete', async () => (await read()).status === 'complete');
  const { tracks } = await read();
  expect(tracks.map((track: { role: string }) => track.role).sort()).toEqual(['agent', 'user']);
  for (const track of tracks) {
    const response = await fetch(track.url);
    expect(response.status).toBe(200);
    const wav = parseWav(Buffer.from(await response.arrayBuffer()));
    expect(voicedSeconds(wav.samples, wav.rateHz)).toBeGreaterThan(
      track.role === 'agent' ? seconds.agent : seconds.user,
    );
  }
}
