/**
 * Human takeover: the agent is silent while caller and colleague talk, and their words are recorded.
 * Afterwards the agent continues from what was said. The caller is still transcribed; their turns are
 * recorded instead of answered. The call's time limit waits until the agent is back.
 */

import { freeFloor } from '../answering/answering.ts';
import { type Draft, emit, explain, recordMessage, stopTimers } from '../draft.ts';
import { endFromOutside } from '../ending/ending.ts';
import { eventTurn } from '../floor/event-turn.ts';
import { clearUtterance, closeAnswer, dropPendingGeneration, recordHeard } from '../floor/floor.ts';
import { answerOf } from '../floor/generating.ts';
import { abandonPress } from '../floor/press-keys.ts';
import { TALK } from '../line-state.ts';
import { enter } from '../phases.ts';
import type { TurnInput } from '../turn-inputs.ts';
import type { Phase, Turn } from '../turn-state.ts';

type WithHuman = Extract<Phase, { is: 'withHuman' }>;

/** Characters of the talk given to the model, from its end. */
const TALK_CHARS = 4_000;

/** Phases in which a colleague can have the call. */
const TAKEABLE: ReadonlySet<Phase['is']> = new Set([...TALK, 'menu']);

/**
 * A colleague asks for the call. Ignored while the call is being connected, transferred or ended, or is in a
 * mailbox.
 */
export function onHumanTakeover(draft: Draft): void {
  if (!TAKEABLE.has(draft.phase.is)) return;
  abandonPress(draft);
  const { phase, speculation, waiting } = draft;
  explain(draft, { about: 'interruption', rule: 'taken_over', anchorMs: draft.atMs, deadlineMs: draft.atMs });
  stopTimers(draft, 'keypad', 'unheard');
  if (speculation) emit(draft, { do: 'discard', replyId: speculation.generation.replyId });
  const answer = answerOf(draft);
  const cut = 'utterance' in phase ? phase.utterance : null;
  dropPendingGeneration(draft, answer, cut);
  if (cut && phase.is !== 'clearing') clearUtterance(draft, cut, phase.is === 'paused');
  draft.speculation = null;
  draft.screening = null;
  draft.expects = null;
  draft.digits = '';
  draft.waiting = waiting.filter(({ source }) => source === 'event');
  enter(draft, { is: 'withHuman', answer, cut, lines: [], isTimeUp: false });
  if (cut === null) settleAnswer(draft);
  // Turns that waited for the agent are recorded instead.
  for (const turn of waiting) if (turn.source !== 'event') overhear(draft, turn);
  if (phase.is === 'clearing' && phase.next) overhear(draft, phase.next);
  emit(draft, { do: 'yield' });
}

/** Handles inputs that mean something else during a takeover; true when handled. */
export function stepWithHuman(draft: Draft, phase: WithHuman, input: TurnInput): boolean {
  switch (input.type) {
    case 'playout.finished':
    case 'playout.cleared':
      if (phase.cut?.replyId === input.replyId) onCutHeard(draft, phase, input.heard);
      return true;
    case 'timer.fired':
      if (input.name !== 'maxDuration') return false;
      enter(draft, { ...phase, isTimeUp: true });
      return true;
    case 'colleague.said':
      onSaid(draft, input.text);
      return true;
    case 'colleague.handed_back':
      onHandedBack(draft, phase);
      return true;
    default:
      // Inputs about the agent's replies no longer matter.
      return input.type.startsWith('reply.') || input.type.startsWith('playout.');
  }
}

/** Records what the caller says, types or keys in; only the colleague answers it. */
export function overhear(draft: Draft, turn: Turn): void {
  draft.lastTurn = Math.max(draft.lastTurn, turn.turnId);
  if (turn.source === 'speech' || turn.source === 'keypad')
    emit(draft, {
      do: 'event',
      event: { type: 'transcript', role: 'user', segmentId: `u${turn.turnId}`, text: turn.text, final: true },
    });
  recordMessage(draft, { role: 'user', content: turn.text, turnId: turn.turnId, createdAtMs: turn.startMs });
  note(draft, `Caller: ${turn.text}`);
}

function onSaid(draft: Draft, text: string): void {
  recordMessage(draft, { role: 'human', content: text, turnId: null, createdAtMs: draft.atMs });
  note(draft, `Colleague: ${text}`);
}

function note(draft: Draft, line: string): void {
  if (draft.phase.is === 'withHuman') enter(draft, { ...draft.phase, lines: [...draft.phase.lines, line] });
}

/** The heard text of the cut utterance is known. */
function onCutHeard(draft: Draft, { cut }: WithHuman, heard: string): void {
  if (cut) recordHeard(draft, cut, heard);
  // The question was the agent's; the colleague has the caller now.
  draft.expects = null;
  settleAnswer(draft);
}

/** The interrupted answer becomes history. */
function settleAnswer(draft: Draft): void {
  const { phase } = draft;
  if (phase.is !== 'withHuman') return;
  if (phase.answer) closeAnswer(draft, phase.answer, true);
  enter(draft, { ...phase, answer: null, cut: null });
}

/**
 * The agent has the call again and continues with what was said meanwhile. Pending background results follow.
 */
function onHandedBack(draft: Draft, { cut, isTimeUp, lines }: WithHuman): void {
  if (cut) onCutHeard(draft, draft.phase as WithHuman, '');
  enter(draft, { is: 'listening' });
  emit(draft, { do: 'takeBack' });
  if (isTimeUp) {
    endFromOutside(draft, 'conversation_timeout', draft.config.phrases.timeIsUp);
    return;
  }
  const talk = lines.length === 0 ? '' : ` They said:\n${lines.join('\n').slice(-TALK_CHARS)}\n`;
  const text =
    `[A colleague has spoken with the caller and has handed the call back to you.${talk} ` +
    'Go on from there, briefly.]';
  draft.waiting = [eventTurn(draft, text, null), ...draft.waiting];
  freeFloor(draft);
}
