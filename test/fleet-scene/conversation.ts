/** What every caller does: listens, then asks the same question again and again. */
import { record, type Utterance } from '../journeys/microphone.ts';

/** Pause for the greeting, and between two questions; seconds. */
const LISTENS = 4;
const PAUSES = 6;
/** Callers begin one after the other, so that they do not ask in chorus. */
const SHIFTS = [0, 0.7, 1.4, 2.1, 2.8, 3.5, 4.2] as const;
const QUESTION = 'What is the weather like today?';

/** The microphone of caller `index`, and when each of its questions ends, ms from the start. */
export function microphoneOf(
  index: number,
  seconds: number,
  rateHz: number,
): { readonly samples: Int16Array; readonly questionEndsMs: readonly number[] } {
  const asking = record([QUESTION], rateHz).length / rateHz;
  const questions = Math.floor((seconds - LISTENS) / (asking + PAUSES));
  const utterances: Utterance[] = [LISTENS + (SHIFTS[index % SHIFTS.length] ?? 0)];
  for (let question = 0; question < questions; question++) utterances.push(QUESTION, PAUSES);
  const first = (utterances[0] as number) + asking;
  return {
    samples: record(utterances, rateHz),
    questionEndsMs: Array.from({ length: questions }, (_, n) => 1_000 * (first + n * (asking + PAUSES))),
  };
}
