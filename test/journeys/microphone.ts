/** Microphones for third-party callers: a recording of someone who listens, asks, and listens again. */
import { encodeBlock } from '#caller/g711.ts';
import { speak } from '#caller/spoken.ts';
import { toWav } from '#media/speech/audio/wav.ts';

/** The callers' question to the demo agent. */
export const QUESTION = 'What are your opening hours?';
/**
 * Matches transcripts of the question. Browser audio stutters on a busy machine and words may change, but
 * "when are you open" is answered as well.
 */
export const ASKED = /\bopen/i;

/** A caller's action: silence in seconds, or a sentence. */
export type Utterance = number | string;

/** Renders the recording at `rateHz`. */
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

/** Renders the recording as a WAV file. */
export function recordWav(utterances: readonly Utterance[], rateHz: number): Buffer {
  return toWav(record(utterances, rateHz), rateHz);
}

/** Renders the recording as raw µ-law at 8 kHz, with its duration. */
export function recordUlaw(utterances: readonly Utterance[]): {
  readonly file: Buffer;
  readonly seconds: number;
} {
  const samples = record(utterances, 8_000);
  return { file: encodeBlock(samples), seconds: samples.length / 8_000 };
}
