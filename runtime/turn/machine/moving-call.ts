/** Whether another worker could take the call, and what its people would notice. */
import { isAutomated } from './line-state.ts';
import type { TurnState } from './turn-state.ts';

/**
 * `unnoticed`: nobody speaks and nothing is owed to either side, so everything that another worker needs is
 * on the timeline. `noticed`: something would be cut off. `never`: the call has not begun, or is ending.
 */
export type Move = 'unnoticed' | 'noticed' | 'never';

/** How the call could move now. */
export function moveOf(state: TurnState): Move {
  const { phase } = state;
  if (phase.is === 'connecting' || phase.is === 'ending' || phase.is === 'ended') return 'never';
  return isBetweenTurns(state) ? 'unnoticed' : 'noticed';
}

/** Caller and person of a transfer have no turns. */
function isBetweenTurns(state: TurnState): boolean {
  const { phase, caller, waiting, speculation, pendingTranscript, runningTools, screening, digits, line } =
    state;
  if (phase.is === 'joined') return true;
  return (
    phase.is === 'listening' &&
    caller.is === 'silent' &&
    waiting.length === 0 &&
    speculation === null &&
    pendingTranscript?.is !== 'unheard' &&
    Object.keys(runningTools).length === 0 &&
    screening === null &&
    !line?.pending &&
    !isAutomated(line) &&
    digits === '' &&
    !state.isLegLost
  );
}
