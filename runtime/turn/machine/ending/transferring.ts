/**
 * During a transfer: the announcement plays, then the transfer runs, and its outcome decides how the call
 * continues. The caller is not listened to. Timer: `progress` watches the announcement; the transfer has
 * deadlines of its own.
 */
import type { EndReason } from '#protocol/session-record.ts';
import { type Draft, emit, stopTimers } from '../draft.ts';
import { closeAnswer, progress, recordHeard, say } from '../floor/floor.ts';
import { answerOf } from '../floor/generating.ts';
import { onToolFinished } from '../floor/tool-calls.ts';
import { enter, startPhaseTimer } from '../phases.ts';
import type { TimerName, TurnInput } from '../turn-inputs.ts';
import type { Phase } from '../turn-state.ts';
import { beginEnding, closedReason } from './ending.ts';
import { settleTransfer } from './transfer-call.ts';

/** Longest gap between two words of the announcement. */
const ANNOUNCEMENT_GAP_MS = 3_000;
const TRANSFERRED = 'The caller was transferred.';
const CALLER_GONE = 'The caller hung up before the transfer was done.';
const CALL_OVER = 'The call ended before the transfer was done.';

type Transferring = Extract<Phase, { is: 'transferring' }>;

/**
 * Handles one input of a call that is being transferred. True when the transfer has failed and the model must
 * continue from its result.
 */
export function stepTransfer(draft: Draft, phase: Transferring, input: TurnInput): boolean {
  switch (input.type) {
    case 'playout.started':
    case 'playout.progressed':
      if (phase.utterance?.replyId === input.replyId)
        startPhaseTimer(draft, 'progress', draft.atMs + ANNOUNCEMENT_GAP_MS);
      return false;
    case 'playout.finished':
    case 'playout.cleared':
      onHeard(draft, phase, input);
      return false;
    case 'reply.failed':
      if (phase.utterance?.replyId === input.replyId)
        onHeard(draft, phase, { replyId: input.replyId, heard: '' });
      return false;
    case 'tool.finished': {
      const event = onToolFinished(draft, input);
      if (event) draft.waiting = [...draft.waiting, event];
      return false;
    }
    case 'transfer.joined':
      onJoined(draft, phase);
      return false;
    case 'transfer.finished':
      if (!input.isDone) return onFailed(draft, phase, input.message);
      onTransferred(draft, phase);
      return false;
    case 'timer.fired':
      onTimer(draft, phase, input.name);
      return false;
    case 'leg.closed':
      giveUp(draft, phase, { why: CALLER_GONE, reason: closedReason(draft, input.reason), farewell: null });
      return false;
    case 'user.hung_up':
      giveUp(draft, phase, { why: CALLER_GONE, reason: 'user_hangup', farewell: null });
      return false;
    case 'end.requested':
      giveUp(draft, phase, {
        why: CALL_OVER,
        reason: input.reason,
        farewell: input.sayGoodbye ? draft.config.phrases.goodbye : null,
      });
      return false;
    default:
      return false;
  }
}

function onTimer(draft: Draft, phase: Transferring, name: TimerName): void {
  if (name === 'progress' && phase.utterance) {
    emit(draft, { do: 'clear', replyId: phase.utterance.replyId });
    // The report of its heard text comes later; the transfer need not wait for it.
    enter(draft, { ...phase, cut: phase.utterance, utterance: null });
    beginTransfer(draft, phase);
  } else if (name === 'maxDuration')
    giveUp(draft, phase, {
      why: CALL_OVER,
      reason: 'conversation_timeout',
      farewell: draft.config.phrases.timeIsUp,
    });
}

/** The call ends during the transfer: the person called is informed or hung up on. */
function giveUp(
  draft: Draft,
  phase: Transferring,
  end: { readonly why: string; readonly reason: EndReason; readonly farewell: string | null },
): void {
  emit(draft, { do: 'stopTransfer' });
  if (phase.utterance) emit(draft, { do: 'clear', replyId: phase.utterance.replyId });
  settle(draft, phase, { isDone: false, text: end.why });
  beginEnding(draft, end.reason, end.farewell);
}

/** The words before it have been heard: the transfer begins. */
function onHeard(
  draft: Draft,
  phase: Transferring,
  { replyId, heard }: { readonly replyId: string; readonly heard: string },
): void {
  const which = [phase.cut, phase.utterance].find((utterance) => utterance?.replyId === replyId);
  if (!which) return;
  recordHeard(draft, which, heard);
  // The answer now contains what was heard of it.
  const answer = answerOf(draft) ?? phase.answer;
  if (which === phase.cut) {
    enter(draft, { ...phase, answer, cut: null });
    return;
  }
  enter(draft, { ...phase, answer, utterance: null });
  beginTransfer(draft, phase);
}

function beginTransfer(draft: Draft, { destination, notes }: Transferring): void {
  emit(draft, { do: 'transfer', destination, notes });
}

/** Caller and person are joined: the agent has left, and its timers stop. */
function onJoined(draft: Draft, phase: Transferring): void {
  stopTimers(draft, 'maxDuration');
  settle(draft, phase, { isDone: true, text: TRANSFERRED });
  enter(draft, { is: 'joined', answer: answerOf(draft), cut: phase.cut });
}

function onTransferred(draft: Draft, phase: Transferring): void {
  settle(draft, phase, { isDone: true, text: TRANSFERRED });
  beginEnding(draft, 'escalated', null);
}

/**
 * The transfer failed: the agent is back and says so, in its own words or those of the configuration. True
 * when the words are the model's.
 */
function onFailed(draft: Draft, phase: Transferring, message: string): boolean {
  const rule = draft.texts.transfer?.destinations[phase.destination]?.onFailure;
  settle(draft, phase, { isDone: false, text: message });
  if (rule?.action === 'end_call') {
    beginEnding(draft, 'agent_hangup', rule.message || draft.config.phrases.goodbye);
    return false;
  }
  if (draft.recognizer.is !== 'none') {
    draft.recognizer = { ...draft.recognizer, is: 'open' };
    emit(draft, { do: 'openRecognizer' });
  }
  const answer = answerOf(draft) ?? phase.answer;
  if (rule && rule.message !== '') {
    closeAnswer(draft, answer, false);
    // Anything else that waits for the floor comes after it.
    say(draft, rule.message, { kind: 'notice', turnId: answer.turn.turnId, answer: null });
    return false;
  }
  progress(draft);
  enter(draft, { is: 'answering', answer });
  return true;
}

function settle(
  draft: Draft,
  phase: Transferring,
  outcome: { readonly isDone: boolean; readonly text: string },
): void {
  const answer = answerOf(draft);
  const asked = answer?.generation.calls.find(({ call }) => call.callId === phase.callId);
  if (answer && asked) settleTransfer(draft, answer, asked, outcome);
}
