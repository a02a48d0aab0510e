/**
 * The conversation's logic as one pure function: who speaks, what interrupts, what is said during waits, when
 * the call ends. No clock, no I/O: times arrive with the inputs, timers are effects that return as inputs,
 * and equal inputs always give equal effects. The turn loop carries the effects out; the flight log stores
 * the inputs. Each rule has a file of its own in the folders beside this one.
 */

import { followTools } from './answering/answering.ts';
import { onHold } from './answering/hold-line.ts';
import { countQuiet, forgetQuiet, onIdle } from './answering/idle.ts';
import { onPressOver } from './answering/keys-sent.ts';
import { createDraft, type Draft, emit, finishDraft, stopTimers } from './draft.ts';
import { beginEnding, closedReason, endFromOutside, stepEnding } from './ending/ending.ts';
import { stepJoined } from './ending/joined-transfer.ts';
import { stepTransfer } from './ending/transferring.ts';
import { onRecognizerFailed, reopenRecognizer } from './endpointing/recognition.ts';
import { onTranscript } from './endpointing/transcript.ts';
import { onJudge, onSpeculateDue, tryCommit } from './endpointing/turn-end.ts';
import {
  onDigit,
  onEntryTimedOut,
  onHungUp,
  onInterrupted,
  onMessage,
} from './endpointing/typed-and-keyed-input.ts';
import { onTalkDue, onUnheard, onVoiceStarted, onVoiceStopped } from './endpointing/voice.ts';
import { onHumanTakeover, stepWithHuman } from './interruption/human-takeover.ts';
import { handleOptOut } from './interruption/opt-out.ts';
import { onFalseInterruption, onVoiceReached } from './interruption/overlap.ts';
import { followLine } from './line/line.ts';
import { stepMenu } from './opening/menu.ts';
import { onConnected, onExtensionOver, onStarted } from './opening/opening.ts';
import { screen, stepVoicemail } from './opening/screening.ts';
import { onBack, onLegLost, onLegReplaced } from './playout/leg-loss.ts';
import { onPlayout, onReply, onTool } from './playout/reply-and-playout.ts';
import { onProgressDue } from './playout/watchdog.ts';
import type { Effect } from './turn-effects.ts';
import type { TimerName, TurnInput } from './turn-inputs.ts';
import type { TurnState } from './turn-state.ts';

/** The result of one input. */
export interface StepResult {
  readonly state: TurnState;
  readonly effects: readonly Effect[];
}

/** Handles one input. Inputs that no longer matter (a discarded reply, a late timer) change nothing. */
export function step(state: TurnState, input: TurnInput): StepResult {
  if (state.phase.is === 'ended') return { state, effects: [] };
  const draft = createDraft(state, input.atMs);
  dispatchByPhase(draft, input);
  followLine(draft, input);
  countQuiet(draft);
  reportAgentState(draft);
  return finishDraft(draft);
}

/**
 * Phases with a procedure of their own receive every input; the conversation's inputs are dispatched by type.
 */
function dispatchByPhase(draft: Draft, input: TurnInput): void {
  if (handleOptOut(draft, input)) return;
  if (draft.screening && screen(draft, draft.screening, input)) return;
  const { phase } = draft;
  if (phase.is === 'ending') stepEnding(draft, phase, input);
  else if (phase.is === 'menu') stepMenu(draft, phase, input);
  else if (phase.is === 'voicemail') stepVoicemail(draft, phase, input);
  else if (phase.is === 'transferring') {
    if (stepTransfer(draft, phase, input)) followTools(draft);
  } else if (phase.is === 'joined') stepJoined(draft, phase, input);
  else if (phase.is === 'withHuman' && stepWithHuman(draft, phase, input)) return;
  else if (input.type === 'colleague.took_over') onHumanTakeover(draft);
  else dispatchByType(draft, input);
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one case for each input, in the order of their declaration
function dispatchByType(draft: Draft, input: TurnInput): void {
  switch (input.type) {
    case 'call.started':
      onStarted(draft);
      return;
    case 'call.connected':
      onConnected(draft);
      if (draft.isLegLost) forgetQuiet(draft);
      onBack(draft);
      return;
    case 'leg.lost':
      onLegLost(draft);
      return;
    case 'leg.replaced':
      onLegReplaced(draft);
      return;
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
    case 'reply.expects':
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
    case 'keys.sent':
      onKeysSent(draft, input.pressId);
      return;
    case 'variables.changed':
    case 'tone.heard':
    case 'music.started':
    case 'music.stopped':
    case 'transfer.joined':
    case 'transfer.finished':
    case 'colleague.took_over':
    case 'colleague.said':
    case 'colleague.handed_back':
      return;
    case 'digit.pressed':
      onDigit(draft, input.digit);
      return;
    case 'user.message':
      onMessage(draft, input.text, input.wantsAudio);
      return;
    case 'user.active':
      stopTimers(draft, 'idle');
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

function onKeysSent(draft: Draft, pressId: string): void {
  const { phase } = draft;
  if (phase.is === 'connecting') onExtensionOver(draft, 'pressed');
  else if (phase.is === 'pressing' && phase.callId === pressId) onPressOver(draft, 'pressed');
}

function onEnd(
  draft: Draft,
  input: Extract<TurnInput, { type: 'leg.closed' | 'end.requested' | 'user.hung_up' }>,
): void {
  switch (input.type) {
    case 'leg.closed':
      beginEnding(draft, closedReason(draft, input.reason), null);
      return;
    case 'end.requested':
      endFromOutside(draft, input.reason, input.sayGoodbye ? draft.config.phrases.goodbye : null);
      return;
    case 'user.hung_up':
      onHungUp(draft);
      return;
    default:
      input satisfies never;
  }
}

type CallerInput = Extract<
  TurnInput,
  { type: `voice.${string}` | `transcript.${string}` | 'recognizer.failed' }
>;

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
    case 'speculate':
      onSpeculateDue(draft);
      return;
    case 'talk':
      onTalkDue(draft);
      return;
    case 'unheard':
      onUnheard(draft);
      return;
    case 'falseInterruption':
      onFalseInterruption(draft);
      return;
    case 'hold':
      onHold(draft);
      return;
    case 'progress':
      if (draft.phase.is === 'pressing') onPressOver(draft, 'no_line');
      else onProgressDue(draft);
      return;
    case 'idle':
      onIdle(draft);
      return;
    case 'maxDuration':
      endFromOutside(draft, 'conversation_timeout', draft.config.phrases.timeIsUp);
      return;
    case 'keypad':
      onEntryTimedOut(draft);
      return;
    case 'reopen':
      reopenRecognizer(draft);
      return;
    case 'screening':
      onExtensionOver(draft, 'no_line');
      return;
    case 'menu':
    case 'line':
    case 'endCap':
      return;
    default:
      name satisfies never;
  }
}

/** Reports the agent's state to the page whenever it changes. */
function reportAgentState(draft: Draft): void {
  const shown = {
    connecting: 'initializing',
    menu: 'speaking',
    voicemail: 'listening',
    listening: 'listening',
    answering: 'thinking',
    speaking: 'speaking',
    paused: 'listening',
    clearing: 'listening',
    pressing: 'speaking',
    transferring: 'speaking',
    joined: 'speaking',
    withHuman: 'listening',
    ending: 'speaking',
    ended: 'idle',
  } as const;
  const state = shown[draft.phase.is];
  if (state === draft.agentState) return;
  draft.agentState = state;
  emit(draft, { do: 'event', event: { type: 'state', state } });
}
