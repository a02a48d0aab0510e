/**
 * Decides what happens to a finished turn: answered now, joined to the previous one, kept for later, or
 * dropped. Speech may be an echo or a backchannel; typing and keys are always meant.
 */

import { takeTurn, yieldToCaller } from '../answering/answering.ts';
import { allowAnotherHoldLine } from '../answering/hold-line.ts';
import { type Draft, emit, explain } from '../draft.ts';
import { resume } from '../floor/floor.ts';
import { dropSpeculation, isUnnoticed } from '../floor/generating.ts';
import { answersAfterAll } from '../interruption/answered-question.ts';
import { overhear } from '../interruption/human-takeover.ts';
import { echoes, isIgnorable, isMeant, judgeOverlap, judgeWordsOver } from '../interruption/interruption.ts';
import { interrupt, settleOverlap } from '../interruption/overlap.ts';
import { isTalk } from '../line-state.ts';
import { enter } from '../phases.ts';
import type { Answer, Phase, Turn } from '../turn-state.ts';
import { mergedTurn } from './merged-turn.ts';

/** Caller words this soon after agent speech may be its echo. */
const ECHO_WITHIN_MS = 3_000;

/** Admits a finished turn. Where automated lines are expected, its words are judged first. */
export function admitTurn(draft: Draft, turn: Turn): void {
  const { line, phase } = draft;
  if (line && turn.source === 'speech' && isTalk(phase))
    draft.line = { ...line, heard: [...line.heard, turn] };
  else admitJudged(draft, turn);
}

/** Admits a finished turn of a person. */
export function admitJudged(draft: Draft, turn: Turn): void {
  const { phase } = draft;
  switch (phase.is) {
    case 'listening':
      if (isLateEcho(draft, turn)) {
        dropSpeculation(draft);
        drop(draft, 'echo', turn);
        return;
      }
      draft.lastTurn = Math.max(draft.lastTurn, turn.turnId);
      takeTurn(draft, turn);
      return;
    case 'answering':
    case 'speaking':
    case 'paused':
      if (turn.source !== 'speech') admitWritten(draft, phase, turn);
      else if (phase.is === 'answering') joinTurn(draft, phase, turn);
      else settleSpoken(draft, phase, turn);
      return;
    case 'clearing':
      draft.lastTurn = Math.max(draft.lastTurn, turn.turnId);
      enter(draft, { ...phase, next: phase.next ? mergedTurn(phase.next, turn) : turn });
      return;
    case 'pressing':
      queueTurn(draft, turn);
      return;
    case 'withHuman':
      overhear(draft, turn);
      return;
    case 'connecting':
      if (turn.source !== 'speech') draft.waiting = [...draft.waiting, turn];
      return;
    case 'menu':
    case 'voicemail':
    case 'transferring':
    case 'joined':
    case 'ending':
    case 'ended':
      return;
    default:
      phase satisfies never;
  }
}

/**
 * A typed or keyed turn while the agent speaks without being interruptible: both turns get one answer if the
 * caller has noticed nothing of the first, otherwise the turn waits.
 */
function admitWritten(
  draft: Draft,
  phase: Extract<Phase, { is: 'answering' | 'speaking' | 'paused' }>,
  turn: Turn,
): void {
  if (phase.is === 'speaking') {
    draft.waiting = [...draft.waiting, turn];
    return;
  }
  const { answer } = phase;
  if (answer && isUnnoticed(answer) && answer.turn.source !== 'event') answerBoth(draft, answer, turn);
  else draft.waiting = [...draft.waiting, turn];
  allowAnotherHoldLine(draft, turn);
  if (draft.phase.is === 'paused') resume(draft);
}

/**
 * The recogniser repeated the agent's words although no voice was detected. A caller who repeats them has a
 * voice.
 */
function isLateEcho({ lastSaid }: Draft, turn: Turn): boolean {
  if (lastSaid === null || turn.speech?.voicedMs !== 0 || turn.startMs - lastSaid.endMs >= ECHO_WITHIN_MS)
    return false;
  return echoes(turn.text, lastSaid.text);
}

/** The caller said more while the agent was still thinking: one answer to both turns. */
function joinTurn(draft: Draft, phase: Extract<Phase, { is: 'answering' }>, turn: Turn): void {
  const { answer } = phase;
  const judgement = judgeOverlap(turn.text, true, '', draft.config);
  const isAnswer = judgement === 'acknowledgement' && answersAfterAll(turn.text, answer.turn.text, draft);
  if (isIgnorable(judgement) && !isAnswer) {
    drop(draft, judgement, turn);
    return;
  }
  if (yieldToCaller(draft)) {
    takeTurn(draft, turn);
    return;
  }
  if (!isUnnoticed(answer) || answer.turn.source === 'event') {
    queueTurn(draft, turn);
    allowAnotherHoldLine(draft, turn);
    return;
  }
  answerBoth(draft, answer, turn);
}

/** Starts one answer to both turns; the caller has noticed nothing of the first answer. */
function answerBoth(draft: Draft, answer: Answer, turn: Turn): void {
  emit(draft, { do: 'discard', replyId: answer.generation.replyId });
  takeTurn(draft, mergedTurn(answer.turn, turn));
}

/**
 * Speech during agent speech that did not interrupt: kept if the agent cannot be interrupted, dropped if it
 * was too little.
 */
function settleSpoken(draft: Draft, phase: Extract<Phase, { is: 'speaking' | 'paused' }>, turn: Turn): void {
  const spoken = phase.utterance?.text ?? '';
  const { speech, text } = turn;
  const judgement = judgeWordsOver(phase.utterance, { text, isFinal: true, speech }, draft.config);
  const isProtected = phase.utterance?.isInterruptible === false;
  const startedMs = phase.utterance?.startedMs ?? Number.POSITIVE_INFINITY;
  // It began before the agent's first word: the agent is the one interrupting.
  const cameFirst = turn.startMs < startedMs;
  if (
    !isProtected &&
    !isIgnorable(judgement) &&
    (cameFirst || (speech && isMeant(speech, text, spoken, draft.config)))
  ) {
    interrupt(draft, cameFirst ? 'spoke_first' : 'words');
    admitJudged(draft, turn);
    return;
  }
  if (isProtected && !isIgnorable(judgement)) queueTurn(draft, turn);
  else drop(draft, isIgnorable(judgement) ? judgement : 'too_short', turn);
  settleOverlap(draft);
}

function queueTurn(draft: Draft, turn: Turn): void {
  draft.lastTurn = Math.max(draft.lastTurn, turn.turnId);
  const [last, others] = [draft.waiting.at(-1), draft.waiting.slice(0, -1)];
  const joined =
    last && last.source === turn.source ? [...others, mergedTurn(last, turn)] : [...draft.waiting, turn];
  draft.waiting = joined;
}

function drop(draft: Draft, rule: string, turn: Turn): void {
  explain(draft, {
    about: 'transcript',
    rule: `dropped_${rule}`,
    anchorMs: turn.speechEndMs,
    deadlineMs: draft.atMs,
  });
  draft.pendingTranscript = draft.pendingTranscript?.is === 'committed' ? { is: 'ignored' } : null;
}
