/**
 * The end of the caller's turn: judged after each change of the words, speculated on, and taken once the
 * words are final or have been awaited long enough. Timers, both from the end of speech: `commit` takes the
 * turn, or ends the wait for a late final; `speculate` ends the short wait for final words before a
 * speculation.
 */

import type { Expectation } from '../../text/expectation.ts';
import { normalised } from '../../text/normalised.ts';
import { freeFloor } from '../answering/answering.ts';
import { type Draft, emit, explain, startTimer, stopTimers } from '../draft.ts';
import { dropSpeculation, startGeneration } from '../floor/generating.ts';
import { resumeAfterListening, settleOverlap } from '../interruption/overlap.ts';
import { isAutomated } from '../line-state.ts';
import { PROGRESS_MS } from '../timers.ts';
import { WORDLESS_INTERRUPTION_MS } from '../turn-config.ts';
import { type PendingTranscript, speechText, type Turn } from '../turn-state.ts';
import { judgeAnswer, waitMs } from './endpointing.ts';
import { rejectedEndpoints } from './rejected-endpoints.ts';
import { type StoppedCaller, wholeText } from './speech.ts';
import { admitTurn } from './turn-admission.ts';

/** Speculative generations per turn. */
const SPECULATIONS = 3;
/**
 * If the last turn's final arrived within this time, the next speculation waits as long for one, instead of
 * starting on words that may change.
 */
const QUICK_FINAL_MS = 40;

/** After 200 ms of silence: judge, and request final words. */
export function onJudge(draft: Draft): void {
  const { caller } = draft;
  if (caller.is !== 'stopped') return;
  const isAsked = draft.recognizer.is === 'open';
  if (isAsked) emit(draft, { do: 'finalise' });
  draft.caller = {
    ...caller,
    endpoint: { ...caller.endpoint, isJudged: true, askedMs: isAsked ? draft.atMs : null },
  };
  resumeAfterListening(draft, caller.speech);
  judgeTurn(draft);
}

/** Sets the time at which the turn is taken, and speculates on it. */
export function judgeTurn(draft: Draft): void {
  const { caller } = draft;
  if (caller.is !== 'stopped' || !caller.endpoint.isJudged) return;
  const judgement = judgeAnswer(wholeText(caller.speech), expectedNow(draft), draft.config.language);
  // Words that never arrived are not an unfinished thought: they are requested again before the caller has
  // waited too long.
  const longestMs = speechText(caller.speech) === '' ? PROGRESS_MS : Number.POSITIVE_INFINITY;
  const dueMs = caller.endMs + Math.min(longestMs, waitMs(judgement, draft.config, draft.pauseMs));
  draft.caller = { ...caller, endpoint: { ...caller.endpoint, rule: judgement.rule, judgement, dueMs } };
  startTimer(draft, 'commit', dueMs);
  speculate(draft, draft.caller);
  if (draft.atMs >= dueMs) tryCommit(draft);
}

/** The answer that the agent's last reply asks for; null while the agent speaks again. */
function expectedNow({ expects, phase }: Draft): Expectation | null {
  return phase.is === 'listening' || phase.is === 'answering' ? expects : null;
}

function speculate(draft: Draft, caller: StoppedCaller): void {
  const { speech } = caller;
  const text = wholeText(speech);
  const words = normalised(text);
  if (draft.speculation?.words === words) return;
  if (draft.speculation) emit(draft, { do: 'discard', replyId: draft.speculation.generation.replyId });
  draft.speculation = null;
  if (
    !draft.config.speculative ||
    draft.phase.is !== 'listening' ||
    words === '' ||
    speech.speculations >= SPECULATIONS ||
    draft.digits !== '' ||
    isAutomated(draft.line)
  )
    return;
  const settledByMs = settledSoonMs(draft, caller);
  if (settledByMs !== null) {
    startTimer(draft, 'speculate', settledByMs);
    return;
  }
  const turn = turnOf(draft, caller, text);
  const generation = startGeneration(draft, turn, { rounds: [], attempt: 1, isSpeculative: true });
  draft.speculation = { generation, words, historyLength: draft.history.length };
  draft.caller = { ...caller, speech: { ...speech, speculations: speech.speculations + 1 } };
}

/**
 * When final words are expected, if that is soon enough for a speculation to wait: on words that change it
 * would waste a generation and a piece of speech.
 */
function settledSoonMs({ atMs, finalTookMs }: Draft, { endpoint }: StoppedCaller): number | null {
  const { askedMs, isSettled } = endpoint;
  if (askedMs === null || isSettled || finalTookMs === null || finalTookMs > QUICK_FINAL_MS) return null;
  return atMs < askedMs + QUICK_FINAL_MS ? askedMs + QUICK_FINAL_MS : null;
}

/** The final is later than the last one: speculate on the words so far. */
export function onSpeculateDue(draft: Draft): void {
  const { caller } = draft;
  if (caller.is === 'stopped' && caller.endpoint.isJudged) speculate(draft, caller);
}

/** Takes the turn when it is due and its words are final or have been awaited long enough. */
export function tryCommit(draft: Draft): void {
  const { caller } = draft;
  if (caller.is !== 'stopped' || draft.atMs < caller.endpoint.dueMs) return;
  const lastMs = Math.max(caller.endpoint.dueMs, caller.endMs + draft.config.recognition.finalWithinMs);
  if (!caller.endpoint.isSettled && draft.atMs < lastMs && draft.recognizer.is === 'open') {
    startTimer(draft, 'commit', lastMs);
    return;
  }
  commit(draft, caller);
}

function commit(draft: Draft, caller: StoppedCaller): void {
  stopTimers(draft, 'commit', 'judge');
  const { speech, endMs, endpoint } = caller;
  const text = wholeText(speech);
  draft.caller = { is: 'silent' };
  draft.pendingTranscript = lateAfter(caller);
  if (!endpoint.isSettled) draft.finalTookMs = null;
  const rule = speechText(speech) === '' ? 'no_words' : endpoint.rule;
  // The phase may have changed since the words were judged.
  const judgement = endpoint.judgement ?? judgeAnswer(text, expectedNow(draft), draft.config.language);
  explain(draft, {
    about: 'endpoint',
    rule,
    anchorMs: endMs,
    deadlineMs: endpoint.dueMs,
    rejected: rejectedEndpoints(judgement, draft.config, draft.pauseMs, endMs),
  });
  if (text === '') {
    dropSpeculation(draft);
    settleOverlap(draft);
    if (speech.unheardMs + speech.voicedMs >= WORDLESS_INTERRUPTION_MS)
      startTimer(draft, 'unheard', endMs + PROGRESS_MS);
    // A result that waited for the caller to finish may speak now.
    if (draft.phase.is === 'listening') freeFloor(draft);
    return;
  }
  const turn = turnOf(draft, caller, text);
  admitTurn(draft, rule === endpoint.rule ? turn : { ...turn, rule, expectation: undefined });
}

function lateAfter({ speech, endMs, endpoint }: StoppedCaller): PendingTranscript | null {
  if (speechText(speech) === '') return speech.continues === null ? { is: 'unheard', speech, endMs } : null;
  return endpoint.isSettled
    ? null
    : { is: 'committed', text: speech.interim === '' ? speechText(speech) : speech.interim };
}

function turnOf(draft: Draft, caller: StoppedCaller, text: string): Turn {
  const { speech, endMs, endpoint } = caller;
  return {
    turnId: speech.continues?.turnId ?? draft.lastTurn + 1,
    source: 'speech',
    text,
    speech,
    startMs: speech.continues?.startMs ?? speech.startMs,
    speechEndMs: endMs,
    dueMs: endpoint.dueMs,
    committedMs: draft.atMs,
    rule: endpoint.rule,
    expectation: endpoint.judgement?.fit?.note,
    wantsAudio: true,
    fallback: null,
    isForSilence: false,
  };
}
