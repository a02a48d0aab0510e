/**
 * The caller's side: speech and its words, until they are taken as a turn. Timers: `judge` starts 200 ms
 * after the end of speech (judgement, finalise, speculation); `commit` is the moment the turn is taken, or
 * the last moment a late final is awaited. Both are counted from the end of speech and cancelled by new
 * speech, which joins the same turn. `speculate` ends the short wait of a speculation for settled words.
 * `talk` is the moment at which a voice that goes on without new words is no longer waited for, `unheard` the
 * one at which words that never came are asked for again.
 */

import { normalised } from '../text/normalised.ts';
import { freeFloor, promiseWord, takeTurn, yieldToCaller } from './answering.ts';
import { type Draft, emit, explain, startTimer, stopTimers } from './draft.ts';
import { judge, learnPause, waitMs } from './endpointing.ts';
import { PROGRESS_MS, say } from './floor.ts';
import { isUnnoticed, startGeneration } from './generating.ts';
import { overhear } from './human-takeover.ts';
import { isIgnorable, isMeant, judgeOverlap, WORDLESS_INTERRUPTION_MS } from './interruption.ts';
import { mergedTurn } from './merged-turn.ts';
import { interrupt, resumeAfterListening, settleOverlap, wordsOverSpeech } from './overlap.ts';
import { enter } from './phases.ts';
import { reopenRecognizer } from './recognition.ts';
import { rejectedEndpoints } from './rejected-endpoints.ts';
import { forgetQuiet } from './silence.ts';
import { JUDGE_AFTER_MS } from './turn-config.ts';
import type { TurnInput } from './turn-inputs.ts';
import {
  type Caller,
  type Endpoint,
  type Late,
  type Phase,
  type Speech,
  speechText,
  type Turn,
} from './turn-state.ts';

/** Speculative runs per turn. */
const SPECULATIONS = 3;
/**
 * A recogniser that settled the last turn's words within this time is given as long before a speculation
 * begins on words that may change.
 */
const QUICK_FINAL_MS = 40;
/** Words that come this soon after the agent's own may be theirs. */
const ECHO_WITHIN_MS = 3_000;
/** Voice too short to have been meant as words. */
const SPOKEN_FROM_MS = 400;
/**
 * A voice that goes on this long without new words is pressed for them; a recogniser that gives finals only
 * has fewer occasions to tell.
 */
const TALK_STALL_MS = { interims: PROGRESS_MS, finals: 10_000, none: 10_000 } as const;
/** What the recogniser then gets at least. */
const PRESSED_MS = 1_000;
/** Requests to say it again, in a row; then the caller is told of other ways. */
const ASKED_AGAIN = 2;

type Stopped = Extract<Caller, { is: 'stopped' }>;

const UNJUDGED: Endpoint = {
  rule: 'unjudged',
  dueMs: Number.POSITIVE_INFINITY,
  isJudged: false,
  askedMs: null,
  isSettled: false,
};

/** The caller began to speak, or went on. */
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
  if (draft.late?.is !== 'committed') draft.late = null;
}

function unheardBefore({ late }: Draft, startMs: number): number {
  if (late?.is !== 'unheard' || startMs - late.endMs >= PROGRESS_MS) return 0;
  return late.speech.unheardMs + late.speech.voicedMs;
}

function talk(draft: Draft, speech: Speech): void {
  draft.caller = { is: 'talking', speech: { ...speech, movedMs: draft.atMs, wasPressed: false } };
  startTimer(draft, 'talk', draft.atMs + TALK_STALL_MS[draft.config.recognition.has]);
}

/**
 * The voice goes on and says nothing new: noise, or a detector that missed the end. What was said before is
 * settled, and is the turn.
 */
export function onTalkDue(draft: Draft): void {
  const { caller } = draft;
  if (caller.is !== 'talking') return;
  const { speech } = caller;
  const dueMs = speech.movedMs + TALK_STALL_MS[draft.config.recognition.has];
  if (draft.atMs < dueMs) {
    startTimer(draft, 'talk', dueMs);
    return;
  }
  if (!speech.wasPressed && draft.recognizer.is === 'open') {
    draft.caller = { is: 'talking', speech: { ...speech, wasPressed: true } };
    const withinMs = Math.max(PRESSED_MS, draft.config.recognition.finalWithinMs);
    emit(draft, { do: 'finalise' }, { do: 'startTimer', name: 'talk', atMs: draft.atMs + withinMs });
    return;
  }
  explain(draft, { about: 'progress', rule: 'stalled_talking', anchorMs: speech.movedMs, deadlineMs: dueMs });
  draft.caller = {
    is: 'stopped',
    speech,
    endMs: speech.movedMs,
    endpoint: { rule: 'stalled_talking', dueMs: draft.atMs, isJudged: true, askedMs: null, isSettled: false },
  };
  tryCommit(draft);
}

/** The caller fell silent. */
export function onVoiceStopped(draft: Draft, input: Extract<TurnInput, { type: 'voice.stopped' }>): void {
  if (draft.caller.is !== 'talking') return;
  const speech = { ...draft.caller.speech, voicedMs: input.voicedMs };
  if (draft.recognizer.is === 'none' && speech.continues === null) {
    draft.caller = { is: 'silent' };
    if (input.voicedMs >= SPOKEN_FROM_MS) admitDeafness(draft);
    // A result that waited for the caller to have spoken waits no longer.
    if (draft.phase.is === 'listening') freeFloor(draft);
    return;
  }
  draft.caller = { is: 'stopped', speech, endMs: input.speechEndMs, endpoint: UNJUDGED };
  emit(
    draft,
    { do: 'stopTimer', name: 'talk' },
    { do: 'startTimer', name: 'judge', atMs: input.speechEndMs + JUDGE_AFTER_MS },
  );
}

function admitDeafness(draft: Draft): void {
  if (draft.hasSaidCannotHear || draft.phase.is !== 'listening') return;
  draft.hasSaidCannotHear = true;
  say(draft, draft.config.phrases.cannotHear, { kind: 'notice', turnId: null, answer: null });
}

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

/** Words came, or were settled. */
export function onTranscript(
  draft: Draft,
  input: Extract<TurnInput, { type: 'transcript.interim' | 'transcript.final' | 'transcript.finalised' }>,
): void {
  if (draft.recognizer.failures > 0) draft.recognizer = { ...draft.recognizer, failures: 0 };
  if (input.type === 'transcript.finalised') {
    onFinalised(draft);
    return;
  }
  const text = input.text.trim();
  if (text === '' || isForLateTurn(draft, input.type, text)) return;
  if (draft.caller.is === 'silent' && !speechWithoutVoice(draft, text)) return;
  const { caller } = draft;
  if (caller.is === 'silent') return;
  const isFinal = input.type === 'transcript.final';
  const { speech } = caller;
  const moved = text === speech.interim ? {} : { movedMs: draft.atMs, wasPressed: false };
  const heard: Speech = {
    ...speech,
    ...moved,
    ...(isFinal ? { finals: [...speech.finals, text], interim: '' } : { interim: text }),
  };
  draft.unheardInARow = 0;
  draft.caller =
    caller.is === 'talking'
      ? { is: 'talking', speech: heard }
      : { ...caller, ...withWords(draft, caller, heard, isFinal) };
  const turnId = speech.continues?.turnId ?? draft.lastTurn + 1;
  emit(draft, {
    do: 'event',
    event: {
      type: 'transcript',
      role: 'user',
      segmentId: `u${turnId}`,
      text: wholeText(heard),
      final: false,
    },
  });
  wordsOverSpeech(draft, isFinal);
  judgeTurn(draft);
}

function withWords(
  draft: Draft,
  caller: Stopped,
  speech: Speech,
  isSettled: boolean,
): Pick<Stopped, 'speech' | 'endMs' | 'endpoint'> {
  // Speech the detector did not hear has no end of its own: the last change of its words stands for it.
  const endMs = speech.voicedMs === 0 ? draft.atMs : caller.endMs;
  if (isSettled) learnFinal(draft, caller);
  return { speech, endMs, endpoint: { ...caller.endpoint, isSettled } };
}

function onFinalised(draft: Draft): void {
  if (draft.late?.is === 'committed' || draft.late?.is === 'ignored') draft.late = null;
  const { caller } = draft;
  if (caller.is !== 'stopped' || !caller.endpoint.isJudged) return;
  learnFinal(draft, caller);
  draft.caller = { ...caller, endpoint: { ...caller.endpoint, isSettled: true } };
  tryCommit(draft);
}

/**
 * The words of a turn were settled: from the first word of that on, the rest is no answer to having been
 * asked.
 */
function learnFinal(draft: Draft, { endpoint }: Stopped): void {
  if (endpoint.askedMs !== null && !endpoint.isSettled) draft.finalTookMs = draft.atMs - endpoint.askedMs;
}

/** Words that belong to speech already dealt with. */
function isForLateTurn(draft: Draft, type: TurnInput['type'], text: string): boolean {
  const { late, caller } = draft;
  if (late?.is === 'committed') {
    const isSame = normalised(text) === normalised(late.text);
    if (caller.is !== 'silent' && !isSame) return false;
    if (type === 'transcript.final') draft.late = null;
    if (!isSame && type === 'transcript.final') growTurn(draft, late.text, text);
    explain(draft, { about: 'transcript', rule: 'late_final', anchorMs: draft.atMs, deadlineMs: draft.atMs });
    return true;
  }
  if (late?.is === 'ignored' && caller.is === 'silent') {
    explain(draft, {
      about: 'transcript',
      rule: 'of_ignored_speech',
      anchorMs: draft.atMs,
      deadlineMs: draft.atMs,
    });
    return true;
  }
  return false;
}

/**
 * The final says more than the interim the turn was taken on: while nothing is audible, the answer is begun
 * again.
 */
function growTurn(draft: Draft, interim: string, final: string): void {
  const { phase } = draft;
  if (phase.is !== 'answering' || !isUnnoticed(phase.answer) || phase.answer.hasHoldLine) return;
  const { turn, generation } = phase.answer;
  // More may have been typed or keyed behind it; where it does not stand, something else is being answered by
  // now.
  const at = turn.source === 'event' ? -1 : turn.text.lastIndexOf(interim);
  if (at < 0) return;
  emit(draft, { do: 'discard', replyId: generation.replyId });
  takeTurn(draft, {
    ...turn,
    text: `${turn.text.slice(0, at)}${final}${turn.text.slice(at + interim.length)}`,
    rule: 'late_final',
  });
}

/**
 * Words without voice: too quiet for the detector, or later than their speech. Returns false when they are
 * dropped.
 */
function speechWithoutVoice(draft: Draft, text: string): boolean {
  const { late, phase } = draft;
  if (late?.is === 'unheard') {
    draft.caller = {
      is: 'stopped',
      speech: late.speech,
      endMs: late.endMs,
      endpoint: { ...UNJUDGED, isJudged: true },
    };
    draft.late = null;
    return true;
  }
  const isOverSpeech = phase.is === 'speaking' || phase.is === 'paused';
  if (isOverSpeech && text.split(/\s+/).length < 2) return false;
  draft.caller = {
    is: 'stopped',
    speech: { ...newSpeech(draft.atMs), hasReached: isOverSpeech },
    endMs: draft.atMs,
    endpoint: { ...UNJUDGED, isJudged: true },
  };
  return true;
}

/** Fixes the moment the turn is taken, and speculates on it. */
function judgeTurn(draft: Draft): void {
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
  const generation = startGeneration(draft, turn, { steps: [], attempt: 1, isSpeculative: true });
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
  draft.late = lateAfter(caller);
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

/**
 * The words of a voice long enough to have been meant never came: the caller, who waits for an answer, is
 * asked to say it again.
 */
export function onUnheard(draft: Draft): void {
  const { caller, late, phase } = draft;
  if (late?.is !== 'unheard' || phase.is !== 'listening' || caller.is !== 'silent' || draft.isLegLost) return;
  draft.unheardInARow += 1;
  explain(draft, { about: 'silence', rule: 'unheard', anchorMs: late.endMs, deadlineMs: draft.atMs });
  if (draft.unheardInARow > ASKED_AGAIN) {
    admitDeafness(draft);
    return;
  }
  forgetQuiet(draft);
  say(draft, draft.config.phrases.trouble, { kind: 'notice', turnId: null, answer: null });
}

function lateAfter({ speech, endMs, endpoint }: Stopped): Late | null {
  if (speechText(speech) === '') return speech.continues === null ? { is: 'unheard', speech, endMs } : null;
  return endpoint.isSettled
    ? null
    : { is: 'committed', text: speech.interim === '' ? speechText(speech) : speech.interim };
}

/**
 * Gives a finished turn of speech its place: answered now, joined to the turn before, kept for later, or
 * dropped.
 */
function admitTurn(draft: Draft, turn: Turn): void {
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
      joinTurn(draft, phase, turn);
      return;
    case 'speaking':
    case 'paused':
      settleSpoken(draft, phase, turn);
      return;
    case 'clearing':
      draft.lastTurn = Math.max(draft.lastTurn, turn.turnId);
      enter(draft, { ...phase, next: phase.next ? mergedTurn(phase.next, turn) : turn });
      return;
    case 'taken':
      overhear(draft, turn);
      return;
    case 'connecting':
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
  draft.late = draft.late?.is === 'committed' ? { is: 'ignored' } : null;
}

function dropSpeculation(draft: Draft): void {
  if (draft.speculation) emit(draft, { do: 'discard', replyId: draft.speculation.generation.replyId });
  draft.speculation = null;
}

/** Everything the turn will say, with what it goes on from. */
function wholeText(speech: Speech): string {
  return [speech.continues?.text ?? '', speechText(speech)].filter((part) => part !== '').join(' ');
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

function newSpeech(startMs: number): Speech {
  return {
    startMs,
    finals: [],
    interim: '',
    hasReached: false,
    wasIgnored: false,
    voicedMs: 0,
    unheardMs: 0,
    movedMs: startMs,
    wasPressed: false,
    speculations: 0,
    continues: null,
  };
}
