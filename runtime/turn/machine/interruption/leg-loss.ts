/**
 * The leg breaks in mid-call and another takes its place: a browser that comes back, a room that is joined
 * again. What the caller has said is taken as their turn, what the agent is about to say waits, and what it
 * was saying is gone on with.
 */
import { type Draft, emit, explain, stopTimers } from '../draft.ts';
import { tryCommit } from '../endpointing/turn-end.ts';
import { eventTurn } from '../floor/event-turn.ts';
import { dropPendingGeneration, progress, resume } from '../floor/floor.ts';
import { answerOf } from '../floor/generating.ts';
import { INTERRUPTION_VOICE_MS } from '../turn-config.ts';
import { speechText, type Utterance } from '../turn-state.ts';

const CUT_OFF =
  '[The connection broke off while you were speaking, and is back now. Go on where you were cut off, briefly.]';

/** Nothing more is heard of the caller: what they have said is all there will be. */
export function onLegLost(draft: Draft): void {
  draft.isLegLost = true;
  const { caller } = draft;
  if (caller.is === 'silent') return;
  stopTimers(draft, 'judge');
  if (draft.recognizer.is === 'open') emit(draft, { do: 'finalise' });
  const endMs = caller.is === 'stopped' ? caller.endMs : draft.atMs;
  draft.caller = {
    is: 'stopped',
    speech: caller.speech,
    endMs,
    endpoint: { rule: 'leg_lost', dueMs: draft.atMs, isJudged: true, askedMs: null, isSettled: false },
  };
  tryCommit(draft);
}

/**
 * What the agent was saying broke off with the leg. Its turn goes on once the caller is back, unless they
 * said something of their own.
 */
export function onBrokenOff(draft: Draft, utterance: Utterance): void {
  dropPendingGeneration(draft, answerOf(draft), utterance);
  explain(draft, { about: 'interruption', rule: 'leg_lost', anchorMs: draft.atMs, deadlineMs: draft.atMs });
  const { caller } = draft;
  if (caller.is === 'silent' || speechText(caller.speech) === '')
    draft.waiting = [{ ...eventTurn(draft, CUT_OFF, null), isForSilence: true }, ...draft.waiting];
}

/** The other leg is there: the detector listens as on the first. */
export function onLegReplaced(draft: Draft): void {
  emit(draft, { do: 'watchVoice', reachMs: INTERRUPTION_VOICE_MS[draft.config.sensitivity] });
}

/** The caller is back: whatever has waited goes out now. */
export function onBack(draft: Draft): void {
  if (!draft.isLegLost) return;
  draft.isLegLost = false;
  progress(draft);
  resume(draft);
}
