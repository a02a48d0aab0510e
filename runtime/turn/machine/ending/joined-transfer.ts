/**
 * While caller and person talk with each other: the agent has left and does not listen, and the end of their
 * conversation ends the call.
 */
import { type Draft, emit } from '../draft.ts';
import { recordHeard } from '../floor/floor.ts';
import { onToolFinished } from '../floor/tool-calls.ts';
import type { TurnInput } from '../turn-inputs.ts';
import type { Phase } from '../turn-state.ts';
import { beginEnding } from './ending.ts';

/** Handles one input while the caller talks with another person. */
export function stepJoined(draft: Draft, { cut }: Extract<Phase, { is: 'joined' }>, input: TurnInput): void {
  switch (input.type) {
    case 'playout.finished':
    case 'playout.cleared':
      if (cut?.replyId === input.replyId) recordHeard(draft, cut, input.heard);
      return;
    case 'tool.finished':
      // The result goes to the timeline only; the model is no longer involved.
      onToolFinished(draft, input);
      return;
    case 'transfer.finished':
    case 'leg.closed':
      beginEnding(draft, 'escalated', null);
      return;
    case 'end.requested':
      emit(draft, { do: 'stopTransfer' });
      beginEnding(draft, input.reason, null);
      return;
    default:
      return;
  }
}
