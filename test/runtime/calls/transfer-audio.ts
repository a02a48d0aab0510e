/** What caller, person and agent of a transfer say and hear: each has a tone of its own. */
import { expect } from 'vitest';
import { speak } from '#caller/spoken.ts';
import { decodeG711 } from '#media/dsp/g711.ts';
import type { Leg } from '#media/leg/leg.ts';
import type { RecognitionOptions, Recognizer } from '#media/speech/speech.ts';
import type { RtpPeer } from '../../fakes/rtp-peer.ts';
import { power, tone } from '../../fakes/tone.ts';

export const CALLER_HZ = 440;
export const HUMAN_HZ = 1_000;
export const AGENT_HZ = 600;
/** Tone power above which the tone counts as heard. */
export const HEARD = 100_000;
/** Real signalling and real audio take time, much of it on a busy machine. */
export const WITHIN = { timeout: 30_000 };

/** All audio that a peer has received. */
export const heardBy = (peer: RtpPeer) =>
  Int16Array.from(
    peer.heard.flatMap(({ payload, payloadType }) => {
      const samples = new Int16Array(payloadType === 0 ? payload.length : 0);
      if (payloadType === 0) decodeG711('PCMU', payload, samples);
      return [...samples];
    }),
  );
/** Whether a peer has received anything but silence. */
export const isLoud = (peer: RtpPeer) => peer.heard.some(({ peak }) => peak > 1_000);

/** A recogniser that returns one sentence after each speech; voice is detected by the real detector. */
export const hears = (text: string): Recognizer => ({
  id: 'test',
  givesInterims: false,
  expectedFinalMs: 0,
  open: ({ onEvent }: RecognitionOptions) => ({
    write: () => undefined,
    finalise: () => onEvent({ type: 'final', text, startMs: null, endMs: null, language: null }),
    close: () => undefined,
  }),
});

/** A spoken yes, repeated as real people do until they are understood. */
export function repeatedYes(): Int16Array {
  const times = 12;
  const words = speak('yes, go ahead.', { rateHz: 8_000, beforeMs: 300, afterMs: 1_500 }).samples;
  const repeated = new Int16Array(words.length * times);
  for (let n = 0; n < times; n++) repeated.set(words, n * words.length);
  return repeated;
}

/** The caller is off hold and hears only the agent, whose leg this is. */
export async function expectHearsAgent(caller: RtpPeer, leg: Leg): Promise<void> {
  const isQuiet = () => caller.heard.length > 20 && caller.heard.slice(-10).every(({ peak }) => peak <= 200);
  await expect.poll(isQuiet, WITHIN).toBe(true);
  caller.heard.length = 0;
  leg.send({
    do: 'play',
    replyId: 'r',
    pieceId: 0,
    samples: tone(AGENT_HZ, 1_000),
    marks: Int32Array.of(),
    last: true,
  });
  await expect.poll(() => caller.heard.filter(({ peak }) => peak > 1_000).length, WITHIN).toBeGreaterThan(45);
  expect(power(heardBy(caller), AGENT_HZ)).toBeGreaterThan(HEARD);
  expect(power(heardBy(caller), CALLER_HZ)).toBeLessThan(power(heardBy(caller), AGENT_HZ) / 50);
}

/** The audio port of a session description. */
export function portOf(sdp: string): number {
  return Number(/m=audio (\d+)/.exec(sdp)?.[1]);
}
