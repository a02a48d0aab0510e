/** What every caller does: listens, then asks the same question again and again. */
import { record } from '../journeys/microphone.ts';

/** Pause for the greeting, and between two questions. */
const LISTENS_MS = 4_000;
export const PAUSES_MS = 6_000;
/** Callers begin one after the other, so that they do not ask in chorus. */
const SHIFT_MS = 700;
const SHIFTS = 7;
const QUESTION = 'What is the weather like today?';

/** The question by sample rate: spoken once for all callers. */
const questions = new Map<number, Int16Array>();

export function questionAt(rateHz: number): Int16Array {
  const question = questions.get(rateHz) ?? record([QUESTION], rateHz);
  questions.set(rateHz, question);
  return question;
}

/** How long caller `index` listens first, ms. */
export function listensMs(index: number): number {
  return LISTENS_MS + SHIFT_MS * (index % SHIFTS);
}

/** The microphone of caller `index`. */
export function microphoneOf(index: number, seconds: number, rateHz: number): Int16Array {
  const question = questionAt(rateHz);
  const toSamples = (ms: number) => Math.round((ms * rateHz) / 1_000);
  const samples = new Int16Array(toSamples(1_000 * seconds));
  const step = question.length + toSamples(PAUSES_MS);
  for (let at = toSamples(listensMs(index)); at + step <= samples.length; at += step)
    samples.set(question, at);
  return samples;
}
