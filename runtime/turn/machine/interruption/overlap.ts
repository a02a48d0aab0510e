/**
 * The caller speaks while the agent speaks or is about to: the agent pauses, the words decide, and it resumes
 * or is cut off. Timer: `falseInterruption` starts with the pause, waits for an open endpoint decision, and
 * is cancelled by the decision.
 */
import { type Draft, emit, explain, stopTimers } from '../draft.ts';
import { cut, hasInterims, pause, resume, watchForWordlessVoice } from '../floor/floor.ts';
import { isUnnoticed } from '../floor/generating.ts';
import { enter, startPhaseTimer } from '../phases.ts';
import { FALSE_INTERRUPTION_MS, PROGRESS_MS } from '../timers.ts';
import { INTERRUPTION_VOICE_MS, WORDLESS_INTERRUPTION_MS } from '../turn-config.ts';
import { type Phase, type Speech, speechText } from '../turn-state.ts';
import { isIgnorable, isMeant, judgeWordsOver, type OverlapJudgement } from './interruption.ts';

/** The speech is long enough for the configured sensitivity. */
export function onVoiceReached(draft: Draft, voicedMs: number): void {
  const { caller, config, phase } = draft;
  if (caller.is !== 'talking' || draft.recognizer.is === 'none') return;
  draft.caller = { ...caller, speech: { ...caller.speech, isLongEnoughToPause: true, voicedMs } };
  if (phase.is === 'paused' && voicedMs >= WORDLESS_INTERRUPTION_MS && !hasInterims(draft)) {
    interrupt(draft, 'voice_without_words');
    return;
  }
  const isAudible = phase.is === 'speaking' && phase.utterance.isInterruptible;
  const isAboutToSpeak =
    phase.is === 'answering' &&
    config.interruptible &&
    isUnnoticed(phase.answer) &&
    phase.answer.turn.source === 'speech';
  if (isAudible || isAboutToSpeak) beginOverlap(draft);
  else judgeOverlappingWords(draft, false);
}

function beginOverlap(draft: Draft): void {
  pause(draft);
  explain(draft, {
    about: 'interruption',
    rule: 'paused',
    anchorMs: draft.atMs,
    deadlineMs: draft.atMs + FALSE_INTERRUPTION_MS,
  });
  watchForWordlessVoice(draft);
  judgeOverlappingWords(draft, false);
}

/**
 * New words while the agent has the floor: do they interrupt? Words of a voice too short to pause the agent
 * interrupt once they are final, and pause it until then.
 */
export function judgeOverlappingWords(draft: Draft, isFinal: boolean): void {
  const { phase, caller, config } = draft;
  if (caller.is === 'silent') return;
  if (phase.is !== 'paused' && !(phase.is === 'speaking' && phase.utterance.isInterruptible)) return;
  const { speech } = caller;
  const judgement = judgeSpeech(draft, speech, isFinal);
  if (speech.isLongEnoughToPause) {
    if (!isIgnorable(judgement)) interrupt(draft, ruleOf(judgement));
    return;
  }
  // Of a short "no" the final decides, as of other words, although "no problem" may follow.
  if (isIgnorable(judgement) && judgement !== 'open') return;
  if (caller.is !== 'stopped' || !isMeant(speech, speechText(speech), phase.utterance?.text ?? '', config))
    return;
  if (isFinal) interrupt(draft, ruleOf(judgement));
  else if (phase.is === 'speaking') beginOverlap(draft);
}

/** Judges the words of a speech over what the agent is saying. */
function judgeSpeech({ config, phase }: Draft, speech: Speech, isFinal: boolean): OverlapJudgement {
  const utterance = phase.is === 'speaking' || phase.is === 'paused' ? phase.utterance : null;
  return judgeWordsOver(utterance, { text: speechText(speech), isFinal, speech }, config);
}

function ruleOf(judgement: OverlapJudgement): string {
  return judgement === 'answer' ? 'answer' : 'words';
}

/** The caller takes the floor. */
export function interrupt(draft: Draft, rule: string): void {
  const { phase } = draft;
  emit(draft, { do: 'watchVoice', reachMs: INTERRUPTION_VOICE_MS[draft.config.sensitivity] });
  if (phase.is === 'paused' && phase.utterance === null) withdrawAnswer(draft, phase, rule);
  else cut(draft, rule);
}

/** Nothing of the answer was heard: its turn continues with the new words. */
function withdrawAnswer(draft: Draft, phase: Extract<Phase, { is: 'paused' }>, rule: string): void {
  const { answer } = phase;
  explain(draft, {
    about: 'interruption',
    rule: `${rule}_before_speech`,
    anchorMs: phase.sinceMs,
    deadlineMs: draft.atMs,
  });
  enter(draft, { is: 'listening' });
  if (!answer) return;
  emit(draft, { do: 'discard', replyId: answer.generation.replyId });
  continueWith(draft, answer.turn);
}

/** The current speech continues a turn that was never answered. */
export function continueWith(draft: Draft, turn: NonNullable<Speech['continues']>): void {
  if (draft.caller.is === 'silent') return;
  draft.caller = { ...draft.caller, speech: { ...draft.caller.speech, continues: turn } };
}

/**
 * The wait for words is over. While an endpoint decision is open and its words can still arrive, the pause
 * continues.
 */
export function onFalseInterruption(draft: Draft): void {
  const { phase, caller } = draft;
  if (phase.is !== 'paused') return;
  if (caller.is === 'stopped' && !caller.endpoint.isSettled && draft.recognizer.is === 'open') {
    const lastMs = caller.endMs + draft.config.recognition.finalWithinMs;
    if (draft.atMs < lastMs) {
      startPhaseTimer(draft, 'falseInterruption', lastMs);
      return;
    }
  }
  if (caller.is === 'talking' && draft.recognizer.is !== 'none') {
    // A sound that no words follow must not silence the agent.
    const dueMs = Math.min(nextWordsMs(draft, caller.speech), phase.sinceMs + PROGRESS_MS);
    if (draft.atMs < dueMs) {
      startPhaseTimer(draft, 'falseInterruption', dueMs);
      return;
    }
  }
  settleOverlap(draft);
}

/**
 * Until when words of a caller who talks are awaited. Without interims the voice decides at 700 ms, and the
 * words at the end of speech. With them the next word does: "that's …", "all right, …".
 */
function nextWordsMs(draft: Draft, speech: Speech): number {
  if (!hasInterims(draft)) return draft.atMs + FALSE_INTERRUPTION_MS;
  const judgement = judgeSpeech(draft, speech, false);
  const isListening = judgement === 'open' || judgement === 'acknowledgement';
  return isListening ? speech.newWordsMs + FALSE_INTERRUPTION_MS : draft.atMs;
}

/**
 * A listening caller ("mm-hm") has stopped: the agent resumes at once. Words added by the final are judged
 * like any others.
 */
export function resumeAfterListening(draft: Draft, speech: Speech): void {
  const { phase } = draft;
  if (phase.is !== 'paused' || phase.utterance === null) return;
  const judgement = judgeSpeech(draft, speech, false);
  if (judgement !== 'ignore_phrase' && judgement !== 'acknowledgement') return;
  explain(draft, {
    about: 'interruption',
    rule: `resumed_after_${judgement}`,
    anchorMs: phase.sinceMs,
    deadlineMs: draft.atMs,
  });
  emit(draft, { do: 'watchVoice', reachMs: INTERRUPTION_VOICE_MS[draft.config.sensitivity] });
  resume(draft);
}

/** The overlap meant nothing: its words are dropped, and the agent resumes at the paused word. */
export function settleOverlap(draft: Draft): void {
  const { phase, caller } = draft;
  if (phase.is !== 'paused') return;
  const judgement = caller.is === 'silent' ? 'none' : judgeSpeech(draft, caller.speech, true);
  if (!isIgnorable(judgement)) {
    interrupt(draft, ruleOf(judgement));
    return;
  }
  explain(draft, {
    about: 'interruption',
    rule: `resumed_after_${judgement}`,
    anchorMs: phase.sinceMs,
    deadlineMs: draft.atMs,
  });
  if (caller.is === 'talking') {
    // Ignored words may be repeated by the recogniser: they do not answer what the agent asks after them.
    const over = judgement === 'none' ? caller.speech.over : null;
    const ignored = { finals: [], interim: '', wasIgnored: true, over };
    draft.caller = { is: 'talking', speech: { ...caller.speech, ...ignored } };
  }
  if (caller.is === 'stopped') {
    stopTimers(draft, 'judge', 'commit');
    draft.caller = { is: 'silent' };
    draft.pendingTranscript = caller.endpoint.isSettled ? null : { is: 'ignored' };
    if (!caller.endpoint.isJudged && draft.recognizer.is === 'open') emit(draft, { do: 'finalise' });
  }
  emit(draft, { do: 'watchVoice', reachMs: INTERRUPTION_VOICE_MS[draft.config.sensitivity] });
  resume(draft);
}
