/**
 * The end of a call: listening stops, the farewell plays to its last word, then the leg hangs up. Caller
 * speech after this point is ignored. Timer: `endCap` starts with the ending, is moved by every sign of
 * playout, and ends the call when playout stalls.
 */

import type { LegCloseReason } from '#media/leg/leg.ts';
import type { EndReason } from '#protocol/session-record.ts';
import { type Draft, emit, explain, stopTimers } from '../draft.ts';
import {
  clearUtterance,
  closeAnswer,
  dropPendingGeneration,
  prepare,
  recordHeard,
  recordUser,
  utteranceOf,
} from '../floor/floor.ts';
import { answerOf, setAnswer } from '../floor/generating.ts';
import { abandonPress } from '../floor/press-keys.ts';
import { noteResult, withResult } from '../floor/tool-results.ts';
import { changeLine } from '../line-change.ts';
import { isAutomated } from '../line-state.ts';
import { enter, restartDeadline, startPhaseTimer } from '../phases.ts';
import { LISTENING_TIMERS } from '../timers.ts';
import type { TurnInput } from '../turn-inputs.ts';
import type { Answer, CallWithResult, Phase, Utterance } from '../turn-state.ts';

/** Longest gap between two words of the farewell. */
const FAREWELL_GAP_MS = 2_000;

type Ending = Extract<Phase, { is: 'ending' }>;

/** A call that ends before the caller could be heard was cancelled. */
export function closedReason(draft: Draft, reason: LegCloseReason): EndReason {
  if (draft.phase.is === 'connecting' && !draft.phase.extension) return 'cancelled';
  return reason === 'failed' ? 'internal_error' : 'user_hangup';
}

/**
 * Ends the call for an outside reason: its time is up, or the API asked for it. `farewell` null ends it
 * without words.
 */
export function endFromOutside(draft: Draft, reason: EndReason, farewell: string | null): void {
  if (draft.phase.is === 'listening' || draft.phase.is === 'menu')
    explain(draft, { about: 'silence', rule: 'end_of_call', anchorMs: draft.atMs, deadlineMs: draft.atMs });
  beginEnding(draft, reason, farewell);
}

/**
 * Ends the call after a farewell, or at once if there is none or nobody would hear it. Current speech is
 * stopped.
 */
export function beginEnding(draft: Draft, reason: EndReason, farewell: string | null): void {
  const { phase } = draft;
  if (phase.is === 'ending' || phase.is === 'ended') return;
  abandonPress(draft);
  stopListening(draft, { isForGood: true });
  const answer = answerOf(draft);
  const audible = 'utterance' in phase ? phase.utterance : null;
  const hasLeg = phase.is !== 'connecting';
  dropPendingGeneration(draft, answer, audible);
  if (audible && phase.is !== 'clearing') clearUtterance(draft, audible, phase.is === 'paused');
  const isSaid = farewell !== null && farewell.trim() !== '' && hasLeg && !isAutomated(draft.line);
  if (isAutomated(draft.line)) changeLine(draft, 'unknown', { rule: 'line_left', endedBy: 'call_ended' });
  const utterance = isSaid ? sayFarewell(draft, farewell, answer) : null;
  enter(draft, { is: 'ending', reason, cut: audible, utterance, answer });
  finishEnding(draft);
}

function sayFarewell(draft: Draft, text: string, answer: Answer | null): Utterance {
  const utterance = prepare(draft, text, { kind: 'farewell', turnId: answer?.turn.turnId ?? null });
  emit(draft, { do: 'play', replyId: utterance.replyId });
  return utterance;
}

/**
 * Carries out the model's hang-up. Returns `asks` when its closing words ask a question and questions hold
 * the hang-up: then the call continues and the model reads why.
 */
export function hangUpBy(draft: Draft, answer: Answer): 'ends' | 'asks' {
  const { mode, message } = draft.texts.hangUpFarewell;
  const asked = answer.generation.calls.find((entry) => entry.mode === 'hang_up');
  if (!asked) return 'asks';
  const said = answer.generation.text.trim();
  const closing =
    mode === 'fixed'
      ? message
      : mode === 'generated' && said === ''
        ? farewellArgument(asked) || draft.config.phrases.goodbye
        : '';
  if (draft.config.hangUpRefuseQuestions && /[?？؟]\s*$/.test(said || closing)) {
    settleHangUp(
      draft,
      answer,
      asked,
      'Not hung up: your words ask the caller something. Wait for the answer first.',
    );
    return 'asks';
  }
  settleHangUp(draft, answer, asked, 'The call ends now.');
  const isHeard = answer.heard[answer.generation.replyId] !== undefined;
  endAfterReply(draft, said !== '' && !isHeard, closing);
  return 'ends';
}

function settleHangUp(draft: Draft, answer: Answer, asked: CallWithResult, result: string): void {
  setAnswer(draft, withResult(answer, asked.call.callId, result));
  noteResult(
    draft,
    {
      callId: asked.call.callId,
      status: 'completed',
      output: JSON.stringify({ result }),
      outputTruncated: false,
      error: null,
      latencyMs: 0,
    },
    { toolName: asked.call.toolName, source: asked.source, turnId: answer.turn.turnId },
  );
}

/** The reply's own words are the farewell, or precede it; they may have been heard before it pressed keys. */
function endAfterReply(draft: Draft, hasWords: boolean, closing: string): void {
  const { phase } = draft;
  const answer = answerOf(draft);
  if (!answer || !hasWords) {
    beginEnding(draft, 'agent_hangup', closing);
    return;
  }
  stopListening(draft, { isForGood: true });
  const playing = 'utterance' in phase ? phase.utterance : null;
  const isOther = playing !== null && playing.replyId !== answer.generation.replyId;
  if (phase.is === 'paused')
    emit(draft, playing ? { do: 'resume' } : { do: 'play', replyId: answer.generation.replyId });
  if (isOther)
    emit(
      draft,
      { do: 'clear', replyId: playing.replyId },
      { do: 'play', replyId: answer.generation.replyId },
    );
  const utterance =
    playing !== null && !isOther ? playing : utteranceOf(draft, answer.turn, answer.generation);
  enter(draft, { is: 'ending', reason: 'agent_hangup', cut: isOther ? playing : null, utterance, answer });
  draft.farewell = closing;
}

function farewellArgument(asked: CallWithResult): string {
  try {
    const value: unknown = JSON.parse(asked.call.input);
    const farewell =
      typeof value === 'object' && value !== null
        ? (value as Record<string, unknown>)['farewell']
        : undefined;
    return typeof farewell === 'string' ? farewell.trim().slice(0, 500) : '';
  } catch {
    return '';
  }
}

/** Stops taking caller speech; with `isForGood` false until the transfer fails. */
export function stopListening(draft: Draft, { isForGood }: { readonly isForGood: boolean }): void {
  stopTimers(draft, ...LISTENING_TIMERS);
  if (isForGood) stopTimers(draft, 'maxDuration');
  emit(draft, { do: 'closeRecognizer' });
  if (draft.speculation) emit(draft, { do: 'discard', replyId: draft.speculation.generation.replyId });
  draft.speculation = null;
  draft.caller = { is: 'silent' };
  draft.pendingTranscript = null;
  draft.waiting = [];
  draft.digits = '';
}

/** Handles one input during the ending. */
export function stepEnding(draft: Draft, phase: Ending, input: TurnInput): void {
  switch (input.type) {
    case 'playout.started':
    case 'playout.progressed':
      onFarewellProgress(draft, phase, input);
      return;
    case 'playout.finished':
    case 'playout.cleared':
      onHeard(draft, phase, input);
      return;
    case 'reply.failed':
      if (phase.utterance?.replyId === input.replyId && phase.utterance.startedMs === null)
        onHeard(draft, phase, { replyId: input.replyId, heard: '' });
      return;
    case 'timer.fired':
      if (input.name === 'endCap') onStalled(draft, phase);
      return;
    case 'leg.closed':
      onLegGone(draft, phase);
      return;
    default:
      return;
  }
}

/** The farewell stalled: its heard text is requested once, then the call ends without it. */
function onStalled(draft: Draft, phase: Ending): void {
  explain(draft, {
    about: 'progress',
    rule: 'farewell_stalled',
    anchorMs: draft.progressMs,
    deadlineMs: draft.atMs,
  });
  if (phase.utterance === null || phase.cut !== null) {
    endNow(draft);
    return;
  }
  emit(draft, { do: 'clear', replyId: phase.utterance.replyId });
  draft.farewell = '';
  enter(draft, { ...phase, cut: phase.utterance, utterance: null });
  restartDeadline(draft);
}

/** Nothing more can be played; the report of the heard text follows. */
function onLegGone(draft: Draft, phase: Ending): void {
  draft.farewell = '';
  enter(draft, { ...phase, cut: phase.cut ?? phase.utterance, utterance: null });
  restartDeadline(draft);
  finishEnding(draft);
}

function onFarewellProgress(
  draft: Draft,
  phase: Ending,
  input: Extract<TurnInput, { type: 'playout.started' | 'playout.progressed' }>,
): void {
  if (phase.utterance?.replyId !== input.replyId) return;
  draft.progressMs = draft.atMs;
  startPhaseTimer(draft, 'endCap', draft.atMs + FAREWELL_GAP_MS);
  if (input.type !== 'playout.started' || phase.utterance.startedMs !== null) return;
  enter(draft, { ...phase, utterance: { ...phase.utterance, startedMs: input.wireMs } });
  if (phase.answer) setAnswer(draft, recordUser(draft, phase.answer));
}

function onHeard(
  draft: Draft,
  phase: Ending,
  { replyId, heard }: { readonly replyId: string; readonly heard: string },
): void {
  const which: Utterance | null =
    phase.cut?.replyId === replyId
      ? phase.cut
      : phase.utterance?.replyId === replyId
        ? phase.utterance
        : null;
  if (!which) return;
  recordHeard(draft, which, heard);
  // The answer now contains what was heard of it.
  const answer = answerOf(draft);
  if (which === phase.cut) enter(draft, { ...phase, answer, cut: null });
  else if (draft.farewell === '') enter(draft, { ...phase, answer, utterance: null });
  else {
    enter(draft, { ...phase, answer, utterance: sayFarewell(draft, draft.farewell, answer) });
    restartDeadline(draft);
    draft.farewell = '';
  }
  finishEnding(draft);
}

function finishEnding(draft: Draft): void {
  if (draft.phase.is === 'ending' && draft.phase.cut === null && draft.phase.utterance === null)
    endNow(draft);
}

/** Ends the call, even if something is still playing. */
function endNow(draft: Draft): void {
  const { phase } = draft;
  if (phase.is !== 'ending') return;
  if (phase.answer) closeAnswer(draft, phase.answer, true);
  enter(draft, { is: 'ended', reason: phase.reason });
  emit(draft, { do: 'hangUp', reason: phase.reason });
}
