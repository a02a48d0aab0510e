/**
 * Checks the alignment of a recording's tracks: compares the time between the agent's first sound and the
 * caller's in the recording with that on the wire.
 */

import { PACKET_SAMPLES, VOICED_PEAK } from '#caller/rtp.ts';
import { CALLER_RATE_HZ } from '#caller/scene.ts';
import { parseWav } from '#caller/wav.ts';
import type { Stretch } from '#protocol/audible-timeline.ts';
import type { Product } from '#test/journeys/product.ts';

/** Data from the wire. */
interface OnWire {
  readonly greeting: Stretch | undefined;
  /** Start of the caller's first line. */
  readonly lineMs: number | null;
  /** The agent's audio as received. */
  readonly heard: Int16Array;
}

/**
 * How much later the caller follows the agent in the recording than on the wire, ms. Null if one of them was
 * not heard.
 */
export async function alignmentMs(
  product: Product,
  sessionId: string,
  { greeting, lineMs, heard }: OnWire,
): Promise<number | null> {
  const first = firstVoiced(heard);
  if (!greeting || lineMs === null || first < 0) return null;
  // Packet times refer to the first sample of a packet.
  const greetingMs = greeting.firstMs + ((first % PACKET_SAMPLES) * 1_000) / CALLER_RATE_HZ;
  const read = () => product.ask('GET', `/v1/agent/sessions/${sessionId}/recording`);
  await product.until('the recording is complete', async () => (await read()).status === 'complete', 20_000);
  const onsets = new Map<string, number>();
  for (const { role, url } of (await read()).tracks) {
    const { samples, rateHz } = parseWav(Buffer.from(await (await fetch(url)).arrayBuffer()));
    onsets.set(role, (firstVoiced(samples) * 1_000) / rateHz);
  }
  return (onsets.get('user') ?? Number.NaN) - (onsets.get('agent') ?? Number.NaN) - (lineMs - greetingMs);
}

function firstVoiced(samples: Int16Array): number {
  return samples.findIndex((sample) => Math.abs(sample) >= VOICED_PEAK);
}
