/**
 * The conversation's logic as one pure function: who speaks, what interrupts, what is said while waiting, when the call ends.
 * No clock, no I/O: time comes with the inputs, timers are effects that come back as inputs, and the same inputs always give the same effects.
 * The turn loop carries the effects out; the flight log keeps the inputs. Each rule has a file of its own beside this one.
 */
import type { EndReason } from '#config/session-record.ts';
import type { LegCloseReason } from '#media/leg.ts';
import { freeFloor, onGenerated, onHold } from './answering.ts';
import { createDraft, type Draft, emit, finishDraft } from './draft.ts';
import { beginEnding, stepEnding } from './ending.ts';
import { playAnswer, prepare, speak, watchProgress } from './floor.ts';
import { startGeneration } from './generating.ts';
import { onJudge, onTranscript, onVoiceStarted, onVoiceStopped, tryCommit } from './listening.ts';
import { onDigit, onEntryEnded, onHungUp, onInterrupted, onMessage } from './other-inputs.ts';
import { onFalseInterruption, onVoiceReached } from './overlap.ts';
import { onRecognizerFailed, reopenRecognizer } from './recognition.ts';
import { onPlayout, onReply, onTool } from './reply-inputs.ts';
import { countQuiet, eventTurn, forgetQuiet, onIdle } from './silence.ts';
import { INTERRUPTION_VOICE_MS } from './turn-config.ts';
import type { Effect } from './turn-effects.ts';
import type { TimerName, TurnInput } from './turn-inputs.ts';
import type { Answer, TurnState } from './turn-state.ts';
import { onProgressDue } from './watchdog.ts';

/** What one input makes of a state. */
export interface Step {
  readonly state: TurnState;
  readonly effects: readonly Effect[];
}

/** Takes one input. Inputs that no longer matter (a reply given up, a timer too late) change nothing. */
export function step(state: TurnState, input: TurnInput): Step {
  if (state.phase.is === 'ended') return { state, effects: [] };
  const draft = createDraft(state, input.atMs);
  if (draft.phase.is === 'ending') stepEnding(draft, draft.phase, input);
  else dispatch(draft, input);
  countQuiet(draft);
  tellAgentState(draft);
  return finishDraft(draft);
}

function dispatch(draft: Draft, input: TurnInput): void {
  switch (input.type) {
    case 'call.started':
      onStarted(draft);
      return;
    case 'call.connected':
      onConnected(draft);
      return;
    case 'leg.replaced':
    case 'leg.closed':
    case 'end.requested':
    case 'user.hung_up':
      onEnd(draft, input);
      return;
    case 'voice.started':
    case 'voice.reached':
    case 'voice.stopped':
    case 'transcript.interim':
    case 'transcript.final':
    case 'transcript.finalised':
    case 'recognizer.failed':
      if (draft.phase.is !== 'connecting') onHeardCaller(draft, input);
      return;
    case 'reply.token':
    case 'reply.piece':
    case 'reply.tool_called':
    case 'reply.generated':
    case 'reply.audible':
    case 'reply.failed':
      onReply(draft, input);
      return;
    case 'playout.started':
    case 'playout.progressed':
    case 'playout.finished':
    case 'playout.cleared':
      onPlayout(draft, input);
      return;
    case 'tool.finished':
      onTool(draft, input);
      return;
    case 'digit.pressed':
      onDigit(draft, input.digit);
      return;
    case 'user.message':
      onMessage(draft, input.text, input.wantsAudio);
      return;
    case 'user.active':
      emit(draft, { do: 'stopTimer', name: 'idle' });
      forgetQuiet(draft);
      return;
    case 'user.interrupted':
      onInterrupted(draft);
      return;
    case 'timer.fired':
      onTimer(draft, input.name);
      return;
    default:
      input satisfies never;
  }
}

function onStarted(draft: Draft): void {
  const { greeting, phrases } = draft.config;
  if (draft.phase.is !== 'connecting' || greeting.mode === 'off') return;
  if (greeting.mode === 'say') {
    draft.phase = { is: 'connecting', answer: null, notice: prepare(draft, greeting.text, { kind: 'notice', turnId: null }) };
    return;
  }
  const turn = eventTurn(draft, `[The call has just begun. ${greeting.instruction}]`, greeting.fallback === '' ? phrases.trouble : greeting.fallback);
  const generation = startGeneration(draft, turn, { steps: [], attempt: 1, isSpeculative: false });
  const answer: Answer = { turn, steps: [], generation, isSpeculative: false, isRecorded: false, isMeasured: false, hasHoldLine: true, heard: {} };
  draft.phase = { is: 'connecting', answer, notice: null };
}

function onConnected(draft: Draft): void {
  const { phase } = draft;
  if (phase.is !== 'connecting') return;
  emit(draft, { do: 'watchVoice', reachMs: INTERRUPTION_VOICE_MS[draft.config.sensitivity] });
  emit(draft, { do: 'startTimer', name: 'maxDuration', atMs: draft.atMs + draft.config.maxDurationMs });
  if (draft.recognizer.is !== 'none') emit(draft, { do: 'openRecognizer' });
  if (phase.answer) {
    watchProgress(draft);
    playAnswer(draft, phase.answer);
    if (phase.answer.generation.status === 'done') onGenerated(draft);
  } else if (phase.notice) {
    emit(draft, { do: 'play', replyId: phase.notice.replyId });
    speak(draft, phase.notice, null);
  } else freeFloor(draft);
}

function onEnd(draft: Draft, input: Extract<TurnInput, { type: 'leg.replaced' | 'leg.closed' | 'end.requested' | 'user.hung_up' }>): void {
  switch (input.type) {
    case 'leg.replaced':
      emit(draft, { do: 'watchVoice', reachMs: INTERRUPTION_VOICE_MS[draft.config.sensitivity] });
      draft.caller = { is: 'silent' };
      return;
    case 'leg.closed':
      beginEnding(draft, closedReason(draft, input.reason), null);
      return;
    case 'end.requested':
      beginEnding(draft, input.reason, input.sayGoodbye ? draft.config.phrases.goodbye : null);
      return;
    case 'user.hung_up':
      onHungUp(draft);
      return;
    default:
      input satisfies never;
  }
}

/** Supplement 3: a call that ends before anyone could be heard was cancelled. */
function closedReason(draft: Draft, reason: LegCloseReason): EndReason {
  if (draft.phase.is === 'connecting') return 'cancelled';
  return reason === 'failed' ? 'internal_error' : 'user_hangup';
}

type CallerInput = Extract<TurnInput, { type: `voice.${string}` | `transcript.${string}` | 'recognizer.failed' }>;

function onHeardCaller(draft: Draft, input: CallerInput): void {
  switch (input.type) {
    case 'voice.started':
      onVoiceStarted(draft, input.speechStartMs);
      return;
    case 'voice.reached':
      onVoiceReached(draft, input.voicedMs);
      return;
    case 'voice.stopped':
      onVoiceStopped(draft, input);
      return;
    case 'recognizer.failed':
      onRecognizerFailed(draft, input.isRetryable);
      return;
    case 'transcript.interim':
    case 'transcript.final':
    case 'transcript.finalised':
      onTranscript(draft, input);
      return;
    default:
      input satisfies never;
  }
}

function onTimer(draft: Draft, name: TimerName): void {
  switch (name) {
    case 'judge':
      onJudge(draft);
      return;
    case 'commit':
      tryCommit(draft);
      return;
    case 'falseInterruption':
      onFalseInterruption(draft);
      return;
    case 'hold':
      onHold(draft);
      return;
    case 'progress':
      onProgressDue(draft);
      return;
    case 'idle':
      onIdle(draft);
      return;
    case 'maxDuration':
      beginEnding(draft, 'conversation_timeout', draft.config.phrases.timeIsUp);
      return;
    case 'keypad':
      onEntryEnded(draft);
      return;
    case 'reopen':
      reopenRecognizer(draft);
      return;
    case 'endCap':
      return;
    default:
      name satisfies never;
  }
}

/** What the page shows: told whenever it changes. */
function tellAgentState(draft: Draft): void {
  const shown = {
    connecting: 'initializing',
    listening: 'listening',
    answering: 'thinking',
    speaking: 'speaking',
    paused: 'listening',
    clearing: 'listening',
    ending: 'speaking',
    ended: 'idle',
  } as const;
  const state = shown[draft.phase.is];
  if (state === draft.agentState) return;
  draft.agentState = state;
  emit(draft, { do: 'event', event: { type: 'state', state } });
}
