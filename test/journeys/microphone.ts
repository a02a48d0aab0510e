/** Microphones for callers who are not ours: a recording of someone who listens, asks, and listens again. */
import { encodeBlock } from '#caller/g711.ts';
import { speak } from '#caller/spoken.ts';
import { writeWav } from '#caller/wav.ts';

/** What callers ask the demo agent. */
export const QUESTION = 'What are your opening hours?';
/**
 * It, as the machine's own recogniser writes it down. What a browser plays on a busy machine stutters, and a
 * word may be another one: "when are you open" is answered as well.
 */
export const ASKED = /\bopen/i;

/** What a caller does, in order: stays silent for so many seconds, or says something. */
export type Utterance = number | string;

/** The recording, at `rateHz`. */
export function record(utterances: readonly Utterance[], rateHz: number): Int16Array {
  const parts = utterances.map((item) =>
    typeof item === 'number' ? new Int16Array(Math.round(item * rateHz)) : speak(item, { rateHz }).samples,
  );
  const samples = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    samples.set(part, at);
    at += part.length;
  }
  return samples;
}

/** The recording as a WAV file. */
export function recordWav(utterances: readonly Utterance[], rateHz: number): Buffer {
  return writeWav(record(utterances, rateHz), rateHz);
}

/** The recording as raw µ-law at 8 kHz, and how long it is. */
export function recordUlaw(utterances: readonly Utterance[]): {
  readonly file: Buffer;
  readonly seconds: number;
} {
  const samples = record(utterances, 8_000);
  return { file: encodeBlock(samples), seconds: samples.length / 8_000 };
}
