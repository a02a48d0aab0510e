/** What the agent says while the caller waits for its answer. Timer: `hold`. */
import { type Draft, emit, explain, startTimer } from '../draft.ts';
import type { Answer, Turn } from '../turn-state.ts';
import { recordUser, say } from './floor.ts';
import { setAnswer } from './generating.ts';

/** The agent says a hold line after this much silence since the end of speech. */
const HOLD_AFTER_SPEECH_MS = 3_000;
/** It never says one sooner than this after the turn was first taken. */
const HOLD_AFTER_COMMIT_MS = 1_500;

/** When the hold line of a turn is due. */
export function holdDueMs({ committedMs, speechEndMs }: Turn): number {
  return Math.max(speechEndMs + HOLD_AFTER_SPEECH_MS, committedMs + HOLD_AFTER_COMMIT_MS);
}

/** The caller has waited long enough for a word. */
export function onHold(draft: Draft): void {
  const { phase } = draft;
  if (phase.is !== 'answering' || phase.answer.hasHoldLine) return;
  // Nobody is there to wait: a caller who comes back hears it if the answer is still not there.
  if (draft.isLegLost) startTimer(draft, 'hold', draft.atMs + HOLD_AFTER_COMMIT_MS);
  else bridge(draft, phase.answer);
}

/**
 * A turn waits behind an answer that is only read: whoever listens for its own is told when that takes long.
 */
export function promiseWord(draft: Draft, turn: Turn): void {
  const { phase } = draft;
  if (phase.is !== 'answering' || phase.answer.turn.wantsAudio || !turn.wantsAudio) return;
  setAnswer(draft, { ...phase.answer, hasHoldLine: false });
  startTimer(draft, 'hold', holdDueMs(turn));
}

/**
 * Says a word while the answer is waited for. Whoever reads it sees that it is being made (`audio: false`).
 */
export function bridge(draft: Draft, answer: Answer): void {
  if (!answer.turn.wantsAudio && !draft.waiting.some(({ wantsAudio }) => wantsAudio)) {
    setAnswer(draft, { ...answer, hasHoldLine: true });
    return;
  }
  const { generation, heard } = answer;
  const isTool = generation.calls.some(({ result }) => result === null);
  if (heard[generation.replyId] === undefined) emit(draft, { do: 'hold', replyId: generation.replyId });
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
