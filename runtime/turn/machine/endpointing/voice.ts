/**
 * Start, continuation and end of the caller's voice. Timers: `talk` limits how long a voice may last without
 * new words; `judge` starts at the end of speech and decides 200 ms later whether the turn is over; `unheard`
 * asks the caller to repeat words that never arrived. New speech stops `judge` and `commit` and joins the
 * turn.
 */

import { freeFloor } from '../answering/answering.ts';
import { forgetQuiet } from '../answering/idle.ts';
import { type Draft, emit, explain, startTimer, stopTimers } from '../draft.ts';
import { say } from '../floor/floor.ts';
import { heardNow } from '../interruption/answered-question.ts';
import { isAutomated } from '../line-state.ts';
import { PROGRESS_MS } from '../timers.ts';
import { JUDGE_AFTER_MS } from '../turn-config.ts';
import type { TurnInput } from '../turn-inputs.ts';
import type { Speech } from '../turn-state.ts';
import { learnPause } from './endpointing.ts';
import { reopenRecognizer } from './recognition.ts';
import { newSpeech, UNJUDGED } from './speech.ts';
import { tryCommit } from './turn-end.ts';

/** Speech shorter than this is not treated as words. */
const SPOKEN_FROM_MS = 400;
/**
 * After this long without new words, a voice's words are requested. A recogniser with finals only reports
 * less often.
 */
const TALK_STALL_MS = { interims: PROGRESS_MS, finals: 10_000, none: 10_000 } as const;
/** Minimum time the recogniser gets after that request. */
const WORDS_REQUESTED_WITHIN_MS = 1_000;
/** Requests to repeat in a row; after that the agent suggests other ways. */
const ASKED_AGAIN = 2;

/** The caller started or continued speaking. */
export function onVoiceStarted(draft: Draft, startMs: number): void {
  const { caller } = draft;
  if (caller.is === 'talking') return;
  reopenRecognizer(draft);
  if (caller.is === 'stopped') {
    stopTimers(draft, 'judge', 'commit');
    if (draft.phase.is === 'listening') draft.pauseMs = learnPause(draft.pauseMs, startMs - caller.endMs);
    talk(draft, caller.speech);
    return;
  }
  talk(draft, { ...newSpeech(startMs), unheardMs: unheardBefore(draft, startMs) });
  if (draft.pendingTranscript?.is !== 'committed') draft.pendingTranscript = null;
}

function unheardBefore({ pendingTranscript: pending }: Draft, startMs: number): number {
  if (pending?.is !== 'unheard' || startMs - pending.endMs >= PROGRESS_MS) return 0;
  return pending.speech.unheardMs + pending.speech.voicedMs;
}

function talk(draft: Draft, speech: Speech): void {
  const begun = { over: heardNow(draft), newWordsMs: draft.atMs, wordsRequested: false };
  draft.caller = { is: 'talking', speech: { ...speech, ...begun } };
  startTimer(draft, 'talk', draft.atMs + TALK_STALL_MS[draft.config.recognition.has]);
}

/**
 * The voice continues without new words: noise, or a detector that missed the end. The words so far become
 * final and are the turn.
 */
export function onTalkDue(draft: Draft): void {
  const { caller } = draft;
  if (caller.is !== 'talking') return;
  const { speech } = caller;
  const dueMs = speech.newWordsMs + TALK_STALL_MS[draft.config.recognition.has];
  if (draft.atMs < dueMs) {
    startTimer(draft, 'talk', dueMs);
    return;
  }
  if (!speech.wordsRequested && draft.recognizer.is === 'open') {
    draft.caller = { is: 'talking', speech: { ...speech, wordsRequested: true } };
    emit(draft, { do: 'finalise' });
    startTimer(
      draft,
      'talk',
      draft.atMs + Math.max(WORDS_REQUESTED_WITHIN_MS, draft.config.recognition.finalWithinMs),
    );
    return;
  }
  explain(draft, {
    about: 'progress',
    rule: 'stalled_talking',
    anchorMs: speech.newWordsMs,
    deadlineMs: dueMs,
  });
  draft.caller = {
    is: 'stopped',
    speech,
    endMs: speech.newWordsMs,
    endpoint: { rule: 'stalled_talking', dueMs: draft.atMs, isJudged: true, askedMs: null, isSettled: false },
  };
  tryCommit(draft);
}

/** The caller stopped speaking. */
export function onVoiceStopped(draft: Draft, input: Extract<TurnInput, { type: 'voice.stopped' }>): void {
  if (draft.caller.is !== 'talking') return;
  const speech = { ...draft.caller.speech, voicedMs: input.voicedMs };
  if (draft.recognizer.is === 'none' && speech.continues === null) {
    draft.caller = { is: 'silent' };
    if (input.voicedMs >= SPOKEN_FROM_MS) sayCannotHear(draft);
    // A result that waited for the caller to finish may speak now.
    if (draft.phase.is === 'listening') freeFloor(draft);
    return;
  }
  draft.caller = { is: 'stopped', speech, endMs: input.speechEndMs, endpoint: UNJUDGED };
  stopTimers(draft, 'talk');
  startTimer(draft, 'judge', input.speechEndMs + JUDGE_AFTER_MS);
}

/** A voice long enough for words produced none: the waiting caller is asked to repeat. */
export function onUnheard(draft: Draft): void {
  const { caller, pendingTranscript: pending, phase } = draft;
  if (pending?.is !== 'unheard' || phase.is !== 'listening' || caller.is !== 'silent' || draft.isLegLost)
    return;
  // Music has a voice and no words.
  if (isAutomated(draft.line) || draft.line?.isMusic) return;
  draft.unheardInARow += 1;
  explain(draft, { about: 'silence', rule: 'unheard', anchorMs: pending.endMs, deadlineMs: draft.atMs });
  if (draft.unheardInARow > ASKED_AGAIN) {
    sayCannotHear(draft);
    return;
  }
  forgetQuiet(draft);
  say(draft, draft.config.phrases.trouble, { kind: 'notice', turnId: null, answer: null });
}

function sayCannotHear(draft: Draft): void {
  if (draft.hasSaidCannotHear || draft.phase.is !== 'listening') return;
  draft.hasSaidCannotHear = true;
  say(draft, draft.config.phrases.cannotHear, { kind: 'notice', turnId: null, answer: null });
}
