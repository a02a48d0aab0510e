/**
 * Callers who answer a question in virtual time, with pauses within the answer. The turn machine is the
 * product's; the recogniser gives its interim words 120 ms after a pause begins and its final ones 80 ms
 * after they are requested, the model and the voice answer at once.
 */

import type { Expectation } from '#runtime/turn/text/expectation.ts';
import { phrasesFor } from '#runtime/turn/text/phrases.ts';
import { TurnScript } from '#test/runtime/turn/turn-script.ts';
import { createRandom, logNormal } from '#test/simulation/random.ts';
import type { Kind } from './catalogue.ts';

/** Of pauses within answers. */
const PAUSE_MEDIAN_MS = 600;
/** Length of a spoken word. */
export const WORD_MS = 280;
const INTERIM_MS = 120;
/** From the end of a voice to its final words. */
export const FINALISED_MS = 280;
/** From the moment the turn is taken to the first sound on the line. */
const TO_SOUND_MS = 20;
/** No caller waits longer for the agent. */
const LONGEST_MS = 6_000;

/** A question and its answer, in words between pauses. */
export interface Exchange {
  readonly language: string;
  readonly kind: Kind;
  readonly question: string;
  readonly breaths: readonly string[];
  /** The answer that the model says it expects; null: anything. Absent without a hint. */
  readonly hint?: Expectation | null;
}

/** The result of one answer. */
export interface Answered {
  readonly language: string;
  readonly kind: Kind;
  /** The agent was heard before the caller had said everything. */
  readonly isCutOff: boolean;
  /** From the end of the answer to the agent's first sound, ms; null if it was cut off. */
  readonly waitMs: number | null;
}

/** One caller, drawn from `seed`. */
export function answer(exchange: Exchange, seed: number, responseWaitMs: number): Answered {
  const { breaths, hint, kind, language, question } = exchange;
  const random = createRandom(seed);
  const settings = { language, phrases: phrasesFor(language), responseMaxWaitMs: null };
  const script = TurnScript.speaking(question, settings);
  // The caller's first words are taken at the usual time, whatever the setting is.
  script.state = { ...script.state, config: { ...script.state.config, responseWaitMs } };
  if (hint !== undefined) script.take({ type: 'reply.expects', replyId: 'r1', expects: hint });
  script.take({ type: 'playout.finished', replyId: 'r1', heard: question }).after(400);
  for (const [index, text] of breaths.entries()) {
    const isLast = index === breaths.length - 1;
    const pauseMs = isLast ? LONGEST_MS : Math.min(LONGEST_MS, logNormal(random, PAUSE_MEDIAN_MS));
    const before = script.all('generate').length;
    const endMs = say(script, text, pauseMs);
    const takenMs = script.all('generate')[before]?.atMs ?? Number.POSITIVE_INFINITY;
    const heardMs = takenMs + TO_SOUND_MS;
    if (isLast) return { language, kind, isCutOff: false, waitMs: heardMs - endMs };
    if (heardMs <= endMs + pauseMs) return { language, kind, isCutOff: true, waitMs: null };
  }
  throw new Error('an answer has at least one breath');
}

/** Says one breath, and is silent for `pauseMs`; returns when the voice ended. */
function say(script: TurnScript, text: string, pauseMs: number): number {
  const voicedMs = Math.max(300, text.split(' ').length * WORD_MS);
  script.take({ type: 'voice.started', speechStartMs: script.nowMs }).after(256);
  script.take({ type: 'voice.reached', voicedMs: 256 }).after(voicedMs - 256);
  script.take({ type: 'voice.stopped', speechEndMs: script.nowMs, voicedMs });
  const endMs = script.nowMs;
  script.at(endMs + Math.min(INTERIM_MS, pauseMs / 2)).take({ type: 'transcript.interim', text });
  script.at(endMs + Math.min(FINALISED_MS, pauseMs - 1)).take({ type: 'transcript.final', text });
  script.at(endMs + pauseMs);
  return endMs;
}
