/**
 * The words of a reply as they are written. Those that claim to press keys are held until the reply presses
 * keys.
 */
import { type Draft, emit } from '../draft.ts';
import { enter } from '../phases.ts';
import type { Generation } from '../turn-state.ts';
import { answerOf, setAnswer } from './generating.ts';

/** A generation with more words. */
export function withWords(generation: Generation, text: string, isHeld: boolean): Generation {
  return isHeld
    ? { ...generation, held: joined(generation.held ?? '', text) }
    : { ...generation, text: joined(generation.text, text) };
}

/** The utterance that is being said gets more words. */
export function growUtterance(draft: Draft, replyId: string, text: string): void {
  const { phase } = draft;
  if ((phase.is === 'speaking' || phase.is === 'paused') && phase.utterance?.replyId === replyId)
    enter(draft, { ...phase, utterance: { ...phase.utterance, text: joined(phase.utterance.text, text) } });
}

/** The held words of the answer's reply are said, at their place. */
export function releaseWords(draft: Draft): void {
  const answer = answerOf(draft);
  if (answer?.generation.held === undefined) return;
  const { held, ...generation } = answer.generation;
  const { replyId } = generation;
  setAnswer(draft, { ...answer, generation: { ...generation, text: joined(generation.text, held) } });
  growUtterance(draft, replyId, held);
  emit(draft, { do: 'release', replyId });
}

/** The held words of the answer's reply are never said. */
export function dropWords(draft: Draft): void {
  const answer = answerOf(draft);
  if (!answer) return;
  const { held: _, ...generation } = answer.generation;
  setAnswer(draft, { ...answer, generation });
}

function joined(before: string, text: string): string {
  return before === '' ? text : `${before} ${text}`;
}
