import { expect } from 'vitest';
import { decodeG711, encodeG711 } from '#media/codecs.ts';
import { JitterBuffer } from '#media/rtp/jitter-buffer.ts';
import { speak } from '#test/fakes/spoken.ts';
import { transcribe } from '#test/journeys/ear.ts';
import { itNeeds } from '#test/needs.ts';

const LOST = 0.05;
const JITTER_MS = 60;
const SENTENCES = [
  'please transfer me to a human agent',
  'what are your opening hours',
  'i would like to book a table for two',
  'can you help me with my bill',
  'i want to change my address',
];

/** Uniform in [0, 1), from a seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

/** Speech as it comes out of the jitter buffer after a network that loses 5 % and delays by up to 60 ms, each packet on its own, so that many overtake. */
function throughRoughNetwork(
  samples: Int16Array,
  random: () => number,
): { readonly heard: Int16Array; readonly lost: number; readonly packets: number } {
  const packets = Math.floor(samples.length / 160);
  const arrivals: { readonly atMs: number; readonly packet: number }[] = [];
  for (let packet = 0; packet < packets; packet++) {
    if (random() >= LOST) arrivals.push({ packet, atMs: (packet + 1) * 20 + JITTER_MS * random() });
  }
  arrivals.sort((a, b) => a.atMs - b.atMs);
  const buffer = new JitterBuffer(8_000, 8_000);
  const [payload, decoded, frame] = [new Uint8Array(160), new Int16Array(160), new Int16Array(160)];
  const heard: number[] = [];
  let next = 0;
  for (let slotMs = 0; slotMs < packets * 20 + 400; slotMs += 20) {
    for (; (arrivals[next]?.atMs ?? Number.POSITIVE_INFINITY) <= slotMs; next++) {
      const { packet, atMs } = arrivals[next] ?? { packet: 0, atMs: 0 };
      encodeG711('PCMU', samples.subarray(packet * 160, (packet + 1) * 160), payload, 0);
      decodeG711('PCMU', payload, decoded);
      buffer.push(packet * 160, decoded, atMs);
    }
    if (buffer.pull(frame, slotMs) !== 'absent') heard.push(...frame);
  }
  return { heard: Int16Array.from(heard), lost: packets - arrivals.length, packets };
}

itNeeds(['pocketsphinx_continuous'])('5 % loss and 60 ms of jitter leave every word of a sentence', async () => {
  for (const [n, sentence] of SENTENCES.entries()) {
    // The line has been talking for a while before: how much delay it needs is known by then.
    const { samples } = speak(sentence, { rateHz: 8_000, beforeMs: 2_000, afterMs: 500 });
    const { heard, lost, packets } = throughRoughNetwork(samples, seeded(n + 1));
    expect(lost / packets).toBeGreaterThan(0.01);
    expect(await transcribe(heard, SENTENCES)).toEqual([sentence]);
  }
});
