/**
 * Reports of engines, tools and the leg about the agent's replies. Inputs about a discarded reply change
 * nothing.
 */
import type { ToolCall } from '../../../llm/llm.ts';
import {
  followTools,
  freeFloor,
  onAudible,
  onFailed,
  onGenerated,
  onPlayoutStarted,
  onUtteranceDone,
  takeTurn,
} from '../answering/answering.ts';
import { type Draft, emit, explain } from '../draft.ts';
import { mergedTurn } from '../endpointing/merged-turn.ts';
import { tryCommit } from '../endpointing/turn-end.ts';
import { closeAnswer, noteBackendProgress, progress, recordHeard } from '../floor/floor.ts';
import { answerOf, changeGeneration, isUnnoticed } from '../floor/generating.ts';
import { growUtterance, withWords } from '../floor/reply-words.ts';
import { onToolFinished, runCall } from '../floor/tool-calls.ts';
import { continueWith } from '../interruption/overlap.ts';
import { enter } from '../phases.ts';
import type { TurnInput } from '../turn-inputs.ts';
import type { CallWithResult } from '../turn-state.ts';
import { onBrokenOff } from './leg-loss.ts';

/** The model's result for a call that repeats another one of the same reply. */
const REPEATED = 'The same call as before; it runs once.';

type ReplyInput = Extract<TurnInput, { type: `reply.${string}` }>;

/** Handles progress of a reply's generation or synthesis. */
export function onReply(draft: Draft, input: ReplyInput): void {
  if (draft.phase.is === 'clearing') return;
  const { replyId } = input;
  switch (input.type) {
    case 'reply.token':
      changeGeneration(draft, replyId, (generation) => ({
        ...generation,
        status: 'streaming',
        tokenMs: draft.atMs,
      }));
      noteBackendProgress(draft);
      return;
    case 'reply.piece':
      changeGeneration(draft, replyId, (generation) => ({
        ...withWords(generation, input.text, input.isHeld === true),
        pieceMs: generation.pieceMs ?? draft.atMs,
      }));
      if (!input.isHeld) growUtterance(draft, replyId, input.text);
      noteBackendProgress(draft);
      return;
    case 'reply.tool_called': {
      const { call, mode, source } = input;
      changeGeneration(draft, replyId, (generation) => {
        const result = isRepeated(call, generation.calls) ? REPEATED : null;
        return { ...generation, calls: [...generation.calls, { call, mode, source, result }] };
      });
      if (answerOf(draft)?.generation.replyId === replyId && draft.phase.is !== 'connecting')
        runCall(draft, call.callId);
      noteBackendProgress(draft);
      return;
    }
    case 'reply.expects':
      changeGeneration(draft, replyId, (generation) => ({ ...generation, expects: input.expects }));
      return;
    case 'reply.generated':
      changeGeneration(draft, replyId, (generation) => ({ ...generation, status: 'done' }));
      if (answerOf(draft)?.generation.replyId === replyId && draft.phase.is !== 'connecting')
        onGenerated(draft);
      return;
    case 'reply.audible':
      changeGeneration(draft, replyId, (generation) => ({ ...generation, audioMs: draft.atMs }));
      onAudible(draft, replyId);
      return;
    case 'reply.failed':
      onReplyFailed(draft, input);
      return;
    default:
      input satisfies never;
  }
}

/** Models sometimes make the same call twice in one reply; it runs once. */
function isRepeated(call: ToolCall, before: readonly CallWithResult[]): boolean {
  return before.some((other) => other.call.toolName === call.toolName && other.call.input === call.input);
}

function onReplyFailed(draft: Draft, input: Extract<TurnInput, { type: 'reply.failed' }>): void {
  const { phase, speculation } = draft;
  if (speculation?.generation.replyId === input.replyId) {
    draft.speculation = null;
    explain(draft, {
      about: 'speculation',
      rule: 'failed',
      anchorMs: speculation.generation.startedMs,
      deadlineMs: draft.atMs,
    });
    return;
  }
  const utterance = 'utterance' in phase ? phase.utterance : null;
  const isGeneration = answerOf(draft)?.generation.replyId === input.replyId;
  if (utterance?.replyId === input.replyId && utterance.startedMs === null && !isGeneration) {
    recordHeard(draft, utterance, '');
    onUtteranceDone(draft, input.replyId);
  } else if (isGeneration) {
    changeGeneration(draft, input.replyId, (generation) => ({ ...generation, status: 'done' }));
    onFailed(draft, input);
  }
}

type PlayoutInput = Extract<TurnInput, { type: `playout.${string}` }>;

/** Handles progress of playout. */
export function onPlayout(draft: Draft, input: PlayoutInput): void {
  switch (input.type) {
    case 'playout.started':
      onPlayoutStarted(draft, input);
      return;
    case 'playout.progressed':
      progress(draft);
      if (input.heardChars !== undefined) draft.heard = { replyId: input.replyId, chars: input.heardChars };
      return;
    case 'playout.finished':
    case 'playout.cleared':
      onPlayed(draft, input);
      return;
    default:
      input satisfies never;
  }
}

function onPlayed(
  draft: Draft,
  input: Extract<TurnInput, { type: 'playout.finished' | 'playout.cleared' }>,
): void {
  const { phase } = draft;
  if (!('utterance' in phase) || phase.utterance?.replyId !== input.replyId) return;
  recordHeard(draft, phase.utterance, input.heard);
  if (draft.isLegLost && input.type === 'playout.cleared' && phase.is !== 'clearing') {
    onBrokenOff(draft, phase.utterance);
    onCleared(draft, false);
  } else if (draft.phase.is === 'clearing' || input.type === 'playout.cleared')
    onCleared(draft, input.heard.trim() === '');
  else {
    // It ended while the pause was on its way: the leg must not stay paused.
    if (phase.is === 'paused') emit(draft, { do: 'resume' });
    onUtteranceDone(draft, input.replyId);
  }
}

/**
 * The heard text of the cut utterance is known: the answer becomes history, or was never noticed and its turn
 * continues.
 */
export function onCleared(draft: Draft, isUnheard: boolean): void {
  const { phase } = draft;
  const answer = answerOf(draft);
  const next = phase.is === 'clearing' ? phase.next : null;
  enter(draft, { is: 'listening' });
  const turnContinues =
    answer !== null &&
    isUnheard &&
    isUnnoticed(answer) &&
    answer.turn.source !== 'event' &&
    (next !== null || draft.caller.is !== 'silent');
  if (answer && !turnContinues) closeAnswer(draft, answer, true);
  if (turnContinues && next === null) continueWith(draft, answer.turn);
  if (next) takeTurn(draft, turnContinues ? mergedTurn(answer.turn, next) : next);
  else if (draft.caller.is === 'stopped') tryCommit(draft);
  else freeFloor(draft);
}

/** A tool finished. */
export function onTool(draft: Draft, input: Extract<TurnInput, { type: 'tool.finished' }>): void {
  const event = onToolFinished(draft, input);
  noteBackendProgress(draft);
  if (event) draft.waiting = [...draft.waiting, event];
  if (event && draft.phase.is === 'listening') {
    explain(draft, {
      about: 'silence',
      rule: 'background_result',
      anchorMs: draft.atMs,
      deadlineMs: draft.atMs,
    });
    freeFloor(draft);
  } else followTools(draft);
}
