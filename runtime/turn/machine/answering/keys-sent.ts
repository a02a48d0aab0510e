/**
 * The keys of a reply have been sent, or could not be: the rest of the reply follows, such as a hang-up.
 * Without anything else the agent listens: a menu that got its key talks next.
 */
import type { Draft } from '../draft.ts';
import { hangUpBy } from '../ending/ending.ts';
import { transferBy } from '../ending/transfer-call.ts';
import { closeAnswer, progress } from '../floor/floor.ts';
import { answerOf } from '../floor/generating.ts';
import { type PressOutcome, settlePress } from '../floor/press-keys.ts';
import { enter } from '../phases.ts';
import type { Answer } from '../turn-state.ts';
import { followTools, freeFloor } from './answering.ts';

/** Ends the press of this phase. */
export function onPressOver(draft: Draft, outcome: PressOutcome): void {
  const { phase } = draft;
  if (phase.is !== 'pressing') return;
  settlePress(draft, phase, outcome);
  const answer = answerOf(draft) ?? phase.answer;
  progress(draft);
  enter(draft, { is: 'answering', answer });
  if (endsBy(draft, answer)) return;
  const { calls } = answer.generation;
  if (outcome === 'pressed' && calls.length === 1) {
    closeAnswer(draft, answer, false);
    freeFloor(draft);
  } else followTools(draft);
}

/** A hang-up or a transfer in the same reply; false if there is none, or it was refused. */
function endsBy(draft: Draft, answer: Answer): boolean {
  const { calls } = answer.generation;
  if (calls.some(({ mode, result }) => mode === 'hang_up' && result === null))
    return hangUpBy(draft, answer) === 'ends';
  return (
    calls.some(({ mode, result }) => mode === 'transfer' && result === null) &&
    transferBy(draft, answer) === 'begun'
  );
}
