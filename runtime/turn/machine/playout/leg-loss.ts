/**
 * The leg breaks in mid-call and another replaces it: a browser reconnects or a room is rejoined. The
 * caller's words so far become their turn, waiting agent speech keeps waiting, and interrupted speech is
 * continued.
 */
import { type Draft, emit, explain, stopTimers } from '../draft.ts';
import { tryCommit } from '../endpointing/turn-end.ts';
import { eventTurn } from '../floor/event-turn.ts';
import { dropPendingGeneration, progress, resume } from '../floor/floor.ts';
import { answerOf } from '../floor/generating.ts';
import { INTERRUPTION_VOICE_MS } from '../turn-config.ts';
import { speechText, type Utterance } from '../turn-state.ts';

const CUT_OFF =
  '[The connection broke off while you were speaking, and is back now. Go on where you were cut off, ' +
  'briefly.]';

/** The caller can no longer be heard: their words so far are all there will be. */
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
 * The agent's utterance broke off with the leg. Its turn continues when the caller is back, unless they say
 * something new.
 */
export function onBrokenOff(draft: Draft, utterance: Utterance): void {
  dropPendingGeneration(draft, answerOf(draft), utterance);
  explain(draft, { about: 'interruption', rule: 'leg_lost', anchorMs: draft.atMs, deadlineMs: draft.atMs });
  const { caller } = draft;
  if (caller.is === 'silent' || speechText(caller.speech) === '')
    draft.waiting = [{ ...eventTurn(draft, CUT_OFF, null), isForSilence: true }, ...draft.waiting];
}

/** Another leg is there; its detector starts as on the first. */
export function onLegReplaced(draft: Draft): void {
  emit(draft, { do: 'watchVoice', reachMs: INTERRUPTION_VOICE_MS[draft.config.sensitivity] });
}

/** The caller is back: waiting speech is played now. */
export function onBack(draft: Draft): void {
  if (!draft.isLegLost) return;
  draft.isLegLost = false;
  progress(draft);
  resume(draft);
}
