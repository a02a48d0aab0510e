/** The turns that a call's machine still answers. */
import type { Answer, Turn, TurnState } from '../turn/machine/turn-state.ts';

/** The answer in progress, or the last one while its end is not settled; null without one. */
export function answerIn({ phase }: TurnState): Answer | null {
  return 'answer' in phase ? phase.answer : null;
}

/** The turn being answered, and those that wait for it. */
export function openTurns(state: TurnState): Turn[] {
  const answer = answerIn(state);
  const next = state.phase.is === 'clearing' ? state.phase.next : null;
  return [...(answer ? [answer.turn] : []), ...(next ? [next] : []), ...state.waiting];
}
