/** The words of an automated line: where they are written down, and how the agent gives them the floor. */
import { type Draft, emit, recordMessage } from '../draft.ts';
import { closeAnswer, cut, resume } from '../floor/floor.ts';
import { answerOf, unpressedKeys } from '../floor/generating.ts';
import { noteLine } from '../line-change.ts';
import { enter } from '../phases.ts';
import type { Turn } from '../turn-state.ts';

/** Announcements remembered to notice that one is repeated. */
const ANNOUNCEMENTS = 30;

/** Remembers an announcement. */
export function keepAnnouncement(draft: Draft, words: string): void {
  const { line } = draft;
  if (line && !line.announcements.includes(words))
    noteLine(draft, { announcements: [...line.announcements, words].slice(-ANNOUNCEMENTS) });
}

/** Writes down what an automated line said, for the timeline and for the model. */
export function noteWords(draft: Draft, { startMs, text, turnId }: Turn): void {
  recordWords(draft, { startMs, text, turnId });
  draft.history = [...draft.history, { role: 'user', content: text }];
}

/** The same for the timeline alone. */
export function recordWords(
  draft: Draft,
  { startMs, text, turnId }: Pick<Turn, 'startMs' | 'text' | 'turnId'>,
): void {
  draft.lastTurn = Math.max(draft.lastTurn, turnId);
  emit(draft, {
    do: 'event',
    event: { type: 'transcript', role: 'user', segmentId: `u${turnId}`, text, final: true },
  });
  recordMessage(draft, { role: 'user', content: text, turnId, createdAtMs: startMs });
}

/**
 * The line talks on: the agent ends what it says or is about to say. Keys that it is about to press are
 * pressed, with the words before them: the menu that asked for them talks all the time.
 */
export function giveFloorToWords(draft: Draft): void {
  const answer = answerOf(draft);
  if (answer && unpressedKeys(answer)) quieten(draft);
  else giveFloor(draft);
}

/** Nobody is there to listen: whatever the agent says or is about to say ends here. */
export function giveFloor(draft: Draft): void {
  const { phase } = draft;
  if ((phase.is === 'speaking' || phase.is === 'paused') && phase.utterance) {
    cut(draft, 'automated_line');
    return;
  }
  if (phase.is !== 'answering' && phase.is !== 'paused') return;
  if (phase.answer) {
    emit(draft, { do: 'discard', replyId: phase.answer.generation.replyId });
    closeAnswer(draft, phase.answer, true);
  }
  enter(draft, { is: 'listening' });
}

/** An announcement does not interrupt the agent. */
export function quieten(draft: Draft): void {
  if (draft.phase.is === 'paused') resume(draft);
}
