/**
 * Caller input besides speech: keys, typed messages, the buttons of a web page, and the turns they create.
 */
import { keypadMessage, pressKey } from '../../text/keypad.ts';
import { freeFloor, yieldToCaller } from '../answering/answering.ts';
import { forgetQuiet } from '../answering/idle.ts';
import { type Draft, emit, explain, startTimer, stopTimers } from '../draft.ts';
import { beginEnding } from '../ending/ending.ts';
import { closeAnswer, cut } from '../floor/floor.ts';
import type { Turn } from '../turn-state.ts';
import { admitTurn } from './turn-admission.ts';

/**
 * A key of the phone. With keypad input on, no digit is lost. The first digit of an entry stops the agent; a
 * key that starts no entry does not, because nothing would follow.
 */
export function onDigit(draft: Draft, digit: string): void {
  const { keypad } = draft.config;
  if (!keypad) return;
  forgetQuiet(draft);
  stopTimers(draft, 'idle');
  const { digits, isComplete } = pressKey(draft.digits, digit, keypad);
  if (draft.digits === '' && digits !== '' && isInterruptible(draft)) cut(draft, 'keypad');
  draft.digits = digits;
  if (isComplete) endEntry(draft, draft.atMs);
  else if (digits !== '') startTimer(draft, 'keypad', draft.atMs + keypad.interDigitMs);
}

/** No further key was pressed in time. */
export function onEntryTimedOut(draft: Draft): void {
  endEntry(draft, draft.atMs - (draft.config.keypad?.interDigitMs ?? 0));
}

/** The entry is complete; its last key was pressed at `keyedMs`, since when the caller has waited. */
function endEntry(draft: Draft, keyedMs: number): void {
  const { digits } = draft;
  stopTimers(draft, 'keypad');
  draft.digits = '';
  if (digits === '') return;
  explain(draft, { about: 'endpoint', rule: 'keypad', anchorMs: keyedMs, deadlineMs: draft.atMs });
  interruptWith(draft, {
    ...writtenTurn(draft, 'keypad', keypadMessage(digits), true),
    speechEndMs: keyedMs,
  });
}

/** A typed message. */
export function onMessage(draft: Draft, text: string, wantsAudio: boolean): void {
  interruptWith(draft, writtenTurn(draft, 'typed', text, wantsAudio));
}

/** A turn that is complete at once interrupts the agent, if the agent can be interrupted. */
function interruptWith(draft: Draft, turn: Turn): void {
  if (isInterruptible(draft)) cut(draft, turn.source);
  yieldToCaller(draft);
  admitTurn(draft, turn);
}

/** The stop button: the agent stops speaking and listens. */
export function onInterrupted(draft: Draft): void {
  forgetQuiet(draft);
  if (isInterruptible(draft)) cut(draft, 'user_interrupt');
  const { phase } = draft;
  if ((phase.is !== 'answering' && phase.is !== 'paused') || !phase.answer) return;
  explain(draft, {
    about: 'interruption',
    rule: 'user_interrupt',
    anchorMs: draft.atMs,
    deadlineMs: draft.atMs,
  });
  emit(draft, { do: 'discard', replyId: phase.answer.generation.replyId });
  closeAnswer(draft, phase.answer, true);
  freeFloor(draft);
}

/** The caller hung up on the page. */
export function onHungUp(draft: Draft): void {
  beginEnding(draft, 'user_hangup', null);
}

function isInterruptible(draft: Draft): boolean {
  const { phase } = draft;
  return (phase.is === 'speaking' || phase.is === 'paused') && phase.utterance?.isInterruptible === true;
}

function writtenTurn(draft: Draft, source: 'typed' | 'keypad', text: string, wantsAudio: boolean): Turn {
  draft.lastTurn += 1;
  const { atMs } = draft;
  const times = { startMs: atMs, speechEndMs: atMs, dueMs: atMs, committedMs: atMs };
  return {
    turnId: draft.lastTurn,
    source,
    text,
    speech: null,
    ...times,
    rule: source,
    wantsAudio,
    fallback: null,
    isForSilence: false,
  };
}
