/**
 * A finished turn gets its place: answered now, joined to the turn before, kept for later, or dropped. Speech
 * may be an echo or a backchannel; what is typed or keyed is always meant.
 */

import { type Draft, emit, explain } from '../draft.ts';
import { takeTurn, yieldToCaller } from '../floor/answering.ts';
import { resume } from '../floor/floor.ts';
import { dropSpeculation, isUnnoticed } from '../floor/generating.ts';
import { promiseWord } from '../floor/hold-line.ts';
import { overhear } from '../interruption/human-takeover.ts';
import { isIgnorable, isMeant, judgeOverlap } from '../interruption/interruption.ts';
import { interrupt, settleOverlap } from '../interruption/overlap.ts';
import { enter } from '../phases.ts';
import type { Answer, Phase, Turn } from '../turn-state.ts';
import { mergedTurn } from './merged-turn.ts';

/** Words that come this soon after the agent's own may be theirs. */
const ECHO_WITHIN_MS = 3_000;

/** Gives a finished turn its place. */
export function admitTurn(draft: Draft, turn: Turn): void {
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
 * A typed or keyed turn while the agent has the floor, which could not be interrupted: one answer to both turns
 * if the caller has noticed nothing of the answer yet, else it waits.
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
  promiseWord(draft, turn);
  if (draft.phase.is === 'paused') resume(draft);
}

/**
 * The recogniser gave back what the agent had just said, and nobody was heard to speak. Somebody who repeats
 * its words has a voice.
 */
function isLateEcho({ lastSaid, config }: Draft, turn: Turn): boolean {
  if (lastSaid === null || turn.speech?.voicedMs !== 0 || turn.startMs - lastSaid.endMs >= ECHO_WITHIN_MS)
    return false;
  return judgeOverlap(turn.text, true, lastSaid.text, config) === 'echo';
}

/** More was said while the agent was still thinking: one answer to both. */
function joinTurn(draft: Draft, phase: Extract<Phase, { is: 'answering' }>, turn: Turn): void {
  const { answer } = phase;
  const judgement = judgeOverlap(turn.text, true, '', draft.config);
  if (isIgnorable(judgement)) {
    drop(draft, judgement, turn);
    return;
  }
  if (yieldToCaller(draft)) {
    takeTurn(draft, turn);
    return;
  }
  if (!isUnnoticed(answer) || answer.turn.source === 'event') {
    wait(draft, turn);
    promiseWord(draft, turn);
    return;
  }
  answerBoth(draft, answer, turn);
}

/** Begins one answer to both turns; the caller has noticed nothing of the first one. */
function answerBoth(draft: Draft, answer: Answer, turn: Turn): void {
  emit(draft, { do: 'discard', replyId: answer.generation.replyId });
  takeTurn(draft, mergedTurn(answer.turn, turn));
}

/**
 * Said over the agent and no interruption so far: kept where the agent may not be interrupted, dropped where
 * it was too little.
 */
function settleSpoken(draft: Draft, phase: Extract<Phase, { is: 'speaking' | 'paused' }>, turn: Turn): void {
  const spoken = phase.utterance?.text ?? '';
  const judgement = judgeOverlap(turn.text, true, spoken, draft.config);
  const isProtected = phase.utterance?.isInterruptible === false;
  const startedMs = phase.utterance?.startedMs ?? Number.POSITIVE_INFINITY;
  // It began in the silence before the agent's first word: the agent is the one who interrupts.
  const cameFirst = turn.startMs < startedMs;
  if (
    !isProtected &&
    !isIgnorable(judgement) &&
    (cameFirst || (turn.speech && isMeant(turn.speech, turn.text, spoken, draft.config)))
  ) {
    interrupt(draft, cameFirst ? 'spoke_first' : 'words');
    admitTurn(draft, turn);
    return;
  }
  if (isProtected && !isIgnorable(judgement)) wait(draft, turn);
  else drop(draft, isIgnorable(judgement) ? judgement : 'too_short', turn);
  settleOverlap(draft);
}

function wait(draft: Draft, turn: Turn): void {
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
