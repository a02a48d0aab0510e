/**
 * When the caller's turn is over: judged after each change of the words, speculated on, and taken once its
 * words are settled or have been awaited for long enough. Timers, both counted from the end of speech:
 * `commit` takes the turn, or ends the wait for a late final; `speculate` ends the short wait for settled words
 * before a speculation.
 */
import { normalised } from '../../text/normalised.ts';
import { type Draft, emit, explain, startTimer, stopTimers } from '../draft.ts';
import { freeFloor } from '../floor/answering.ts';
import { PROGRESS_MS } from '../floor/floor.ts';
import { dropSpeculation, startGeneration } from '../floor/generating.ts';
import { WORDLESS_INTERRUPTION_MS } from '../interruption/interruption.ts';
import { resumeAfterListening, settleOverlap } from '../interruption/overlap.ts';
import { type PendingTranscript, speechText, type Turn } from '../turn-state.ts';
import { judge, waitMs } from './endpointing.ts';
import { rejectedEndpoints } from './rejected-endpoints.ts';
import { type Stopped, wholeText } from './speech.ts';
import { admitTurn } from './turn-admission.ts';

/** Speculative runs per turn. */
const SPECULATIONS = 3;
/**
 * A recogniser that settled the last turn's words within this time is given as long before a speculation
 * begins on words that may change.
 */
const QUICK_FINAL_MS = 40;

/** 200 ms of silence: judge, and have the words settled. */
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

/** Fixes the moment the turn is taken, and speculates on it. */
export function judgeTurn(draft: Draft): void {
  const { caller } = draft;
  if (caller.is !== 'stopped' || !caller.endpoint.isJudged) return;
  const judgement = judge(wholeText(caller.speech), draft.config.language);
  // Words that never came are no unfinished thought: they are asked for again before the caller has waited
  // for too long.
  const longestMs = speechText(caller.speech) === '' ? PROGRESS_MS : Number.POSITIVE_INFINITY;
  const dueMs = caller.endMs + Math.min(longestMs, waitMs(judgement, draft.config, draft.pauseMs));
  draft.caller = { ...caller, endpoint: { ...caller.endpoint, rule: judgement.rule, dueMs } };
  startTimer(draft, 'commit', dueMs);
  speculate(draft, draft.caller);
  if (draft.atMs >= dueMs) tryCommit(draft);
}

function speculate(draft: Draft, caller: Stopped): void {
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
    draft.digits !== ''
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
 * When the words will have been settled, if that is so soon that a speculation waits for it: on words that
 * change it costs a generation, and a piece of speech, for nothing.
 */
function settledSoonMs({ atMs, finalTookMs }: Draft, { endpoint }: Stopped): number | null {
  const { askedMs, isSettled } = endpoint;
  if (askedMs === null || isSettled || finalTookMs === null || finalTookMs > QUICK_FINAL_MS) return null;
  return atMs < askedMs + QUICK_FINAL_MS ? askedMs + QUICK_FINAL_MS : null;
}

/** The words were not settled as soon as the last ones: the speculation begins on what there is. */
export function onSpeculateDue(draft: Draft): void {
  const { caller } = draft;
  if (caller.is === 'stopped' && caller.endpoint.isJudged) speculate(draft, caller);
}

/** Takes the turn if it is due and its words are settled, or waited for long enough. */
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

function commit(draft: Draft, caller: Stopped): void {
  stopTimers(draft, 'commit', 'judge');
  const { speech, endMs, endpoint } = caller;
  const text = wholeText(speech);
  draft.caller = { is: 'silent' };
  draft.pendingTranscript = lateAfter(caller);
  if (!endpoint.isSettled) draft.finalTookMs = null;
  const rule = speechText(speech) === '' ? 'no_words' : endpoint.rule;
  explain(draft, {
    about: 'endpoint',
    rule,
    anchorMs: endMs,
    deadlineMs: endpoint.dueMs,
    rejected: rejectedEndpoints(text, draft.config, draft.pauseMs, endMs),
  });
  if (text === '') {
    dropSpeculation(draft);
    settleOverlap(draft);
    if (speech.unheardMs + speech.voicedMs >= WORDLESS_INTERRUPTION_MS)
      startTimer(draft, 'unheard', endMs + PROGRESS_MS);
    // What waited for the caller to have spoken waits no longer.
    if (draft.phase.is === 'listening') freeFloor(draft);
    return;
  }
  admitTurn(draft, { ...turnOf(draft, caller, text), rule });
}

function lateAfter({ speech, endMs, endpoint }: Stopped): PendingTranscript | null {
  if (speechText(speech) === '') return speech.continues === null ? { is: 'unheard', speech, endMs } : null;
  return endpoint.isSettled
    ? null
    : { is: 'committed', text: speech.interim === '' ? speechText(speech) : speech.interim };
}

function turnOf(draft: Draft, caller: Stopped, text: string): Turn {
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
    wantsAudio: true,
    fallback: null,
    isForSilence: false,
  };
}
