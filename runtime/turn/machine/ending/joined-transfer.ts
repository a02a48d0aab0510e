/**
 * While caller and person talk: the agent has left and nothing is listened to, and the end of their
 * conversation is the end of the call.
 */
import { type Draft, emit } from '../draft.ts';
import { recordHeard } from '../floor/floor.ts';
import { onToolFinished } from '../floor/tool-calls.ts';
import type { TurnInput } from '../turn-inputs.ts';
import type { Phase } from '../turn-state.ts';
import { beginEnding } from './ending.ts';

/** Takes one input of a call whose caller talks with somebody else. */
export function stepJoined(draft: Draft, { cut }: Extract<Phase, { is: 'joined' }>, input: TurnInput): void {
  switch (input.type) {
    case 'playout.finished':
    case 'playout.cleared':
      if (cut?.replyId === input.replyId) recordHeard(draft, cut, input.heard);
      return;
    case 'tool.finished':
      // Its result stands in the timeline; nobody is told of it any more.
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
