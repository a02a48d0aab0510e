/** What the agent says while the caller waits for an answer. Timer: `hold`. */
import { type Draft, emit, explain } from '../draft.ts';
import { recordUser, say } from '../floor/floor.ts';
import { setAnswer } from '../floor/generating.ts';
import { isAutomated } from '../line-state.ts';
import { startPhaseTimer } from '../phases.ts';
import type { Answer, Turn } from '../turn-state.ts';

/** Silence since the end of speech after which the agent says a hold line. */
const HOLD_AFTER_SPEECH_MS = 3_000;
/** But never sooner than this after the turn was first taken. */
const HOLD_AFTER_COMMIT_MS = 1_500;

/** When a turn's hold line is due. */
export function holdDueMs({ committedMs, speechEndMs }: Turn): number {
  return Math.max(speechEndMs + HOLD_AFTER_SPEECH_MS, committedMs + HOLD_AFTER_COMMIT_MS);
}

/** The caller has waited long enough for a word. */
export function onHold(draft: Draft): void {
  const { phase } = draft;
  if (phase.is !== 'answering' || phase.answer.hasHoldLine) return;
  // The caller is disconnected: they hear it on their return if the answer is still missing.
  if (draft.isLegLost) startPhaseTimer(draft, 'hold', draft.atMs + HOLD_AFTER_COMMIT_MS);
  else sayHoldLine(draft, phase.answer);
}

/** A spoken turn waits behind an answer that is only read: its caller gets a hold line if that takes long. */
export function allowAnotherHoldLine(draft: Draft, turn: Turn): void {
  const { phase } = draft;
  if (phase.is !== 'answering' || phase.answer.turn.wantsAudio || !turn.wantsAudio) return;
  setAnswer(draft, { ...phase.answer, hasHoldLine: false });
  startPhaseTimer(draft, 'hold', holdDueMs(turn));
}

/**
 * Says a hold line. Not for readers, who see the answer being written (`audio: false`), nor for an automated
 * line.
 */
export function sayHoldLine(draft: Draft, answer: Answer): void {
  const isRead = !answer.turn.wantsAudio && !draft.waiting.some(({ wantsAudio }) => wantsAudio);
  if (isRead || isAutomated(draft.line)) {
    setAnswer(draft, { ...answer, hasHoldLine: true });
    return;
  }
  const { generation, heard } = answer;
  const isTool = generation.calls.some(({ result }) => result === null);
  if (heard[generation.replyId] === undefined) emit(draft, { do: 'holdBack', replyId: generation.replyId });
  explain(draft, {
    about: 'silence',
    rule: isTool ? 'tool_filler' : 'hold_line',
    anchorMs: answer.turn.speechEndMs,
    deadlineMs: draft.atMs,
  });
  const recorded = { ...recordUser(draft, answer), hasHoldLine: true };
  say(draft, isTool ? draft.config.phrases.toolFiller : draft.config.phrases.hold, {
    kind: 'hold',
    turnId: answer.turn.turnId,
    answer: recorded,
  });
}
