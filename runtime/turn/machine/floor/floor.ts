/**
 * The agent's side of the floor: speaking, pausing, resuming, being cut off, and recording what was heard. At
 * most one utterance at a time.
 */

import { type Expectation, expectationOf, withNames } from '../../text/expectation.ts';
import { normalised } from '../../text/normalised.ts';
import { type Draft, emit, explain, nextReplyId, recordMessage } from '../draft.ts';
import { isAutomated } from '../line-state.ts';
import { enter, stopPhaseTimer } from '../phases.ts';
import { WORDLESS_INTERRUPTION_MS } from '../turn-config.ts';
import type { Answer, Generation, Turn, Utterance } from '../turn-state.ts';
import { answerMessages, answerOf, isUnseen, setAnswer, unpressedKeys } from './generating.ts';

/** The caller hears the agent, or has just given it the floor: the watchdog counts from now. */
export function progress(draft: Draft): void {
  draft.progressMs = draft.atMs;
}

/**
 * The model, a tool or the voice made progress. To a caller who hears nothing that is still silence; a reader
 * sees the text grow.
 */
export function noteBackendProgress(draft: Draft): void {
  const { phase } = draft;
  if (phase.is !== 'answering' || !phase.answer.turn.wantsAudio) progress(draft);
}

/** How a fixed text is spoken. */
interface FixedSpeech {
  readonly kind: Utterance['kind'];
  readonly turnId: number | null;
  /** False: only written to the client. Default: spoken. */
  readonly isSpoken?: boolean;
}

/** Speaks a fixed text at once. The floor must be free of other speech. */
export function say(
  draft: Draft,
  text: string,
  options: FixedSpeech & { readonly answer: Answer | null },
): void {
  const utterance = prepare(draft, text, options);
  emit(draft, { do: 'play', replyId: utterance.replyId });
  speak(draft, utterance, options.answer);
}

/** Synthesises a fixed text without playing it. `isHeardOut`: it cannot be interrupted. */
export function prepare(
  draft: Draft,
  text: string,
  options: FixedSpeech & { readonly isHeardOut?: boolean },
): Utterance {
  const replyId = nextReplyId(draft);
  emit(draft, { do: 'say', replyId, text, isSpoken: options.isSpoken !== false });
  return {
    replyId,
    kind: options.kind,
    turnId: options.turnId,
    isInterruptible: draft.config.interruptible && options.kind !== 'farewell' && !options.isHeardOut,
    startedMs: null,
    text,
  };
}

/** The utterance made from a generation. */
export function utteranceOf(draft: Draft, turn: Turn, run: Pick<Generation, 'replyId' | 'text'>): Utterance {
  const { replyId, text } = run;
  return {
    replyId,
    kind: 'reply',
    turnId: turn.turnId,
    // An announcement does not interrupt.
    isInterruptible: draft.config.interruptible && !isAutomated(draft.line),
    startedMs: null,
    text,
  };
}

/** Gives the floor to an utterance whose audio is on its way to the wire. */
export function speak(draft: Draft, words: Utterance, answer: Answer | null): void {
  // Words before keys are heard out: a menu talks all the time.
  const utterance = answer && unpressedKeys(answer) ? { ...words, isInterruptible: false } : words;
  progress(draft);
  enter(draft, { is: 'speaking', utterance, answer });
  // Its words fill the wait that a hold line was for.
  stopPhaseTimer(draft, 'hold');
  const { caller } = draft;
  if (
    caller.is !== 'talking' ||
    !caller.speech.isLongEnoughToPause ||
    caller.speech.wasIgnored ||
    !utterance.isInterruptible
  )
    return;
  // The caller spoke first: the agent's first word waits until that is judged.
  pause(draft);
  watchForWordlessVoice(draft);
}

/** Plays the next part of an answer: words before a tool ran, then its generation. */
export function playAnswer(draft: Draft, answer: Answer): void {
  const { generation, heard, rounds, turn } = answer;
  const next = rounds.find((round) => round.text !== '' && heard[round.replyId] === undefined) ?? generation;
  // Already played; only its tools are pending.
  const isPlayed = heard[next.replyId] !== undefined;
  if (!isPlayed) emit(draft, { do: 'play', replyId: next.replyId });
  if (isPlayed) enter(draft, { is: 'answering', answer });
  else if (next !== generation || generation.audioMs !== null)
    speak(draft, utteranceOf(draft, turn, next), answer);
  else enter(draft, { is: 'answering', answer });
}

/** Pauses the agent; the caller's words decide what follows. */
export function pause(draft: Draft): void {
  const { phase } = draft;
  if (phase.is === 'speaking') {
    emit(draft, { do: 'pause' });
    enter(draft, { is: 'paused', utterance: phase.utterance, answer: phase.answer, sinceMs: draft.atMs });
  } else if (phase.is === 'answering') {
    emit(draft, { do: 'holdBack', replyId: phase.answer.generation.replyId });
    // The caller speaks instead of waiting for words.
    stopPhaseTimer(draft, 'hold');
    enter(draft, { is: 'paused', utterance: null, answer: phase.answer, sinceMs: draft.atMs });
  }
}

/** If no words can arrive during the pause, the voice alone decides. */
export function watchForWordlessVoice(draft: Draft): void {
  if (!hasInterims(draft)) emit(draft, { do: 'watchVoice', reachMs: WORDLESS_INTERRUPTION_MS });
}

/** True when words can be judged while they are spoken. */
export function hasInterims(draft: Draft): boolean {
  return draft.config.recognition.has === 'interims' && draft.recognizer.is === 'open';
}

/** Resumes at the paused word. */
export function resume(draft: Draft): void {
  const { phase } = draft;
  if (phase.is !== 'paused') return;
  if (phase.utterance) {
    emit(draft, { do: 'resume' });
    progress(draft);
    enter(draft, { is: 'speaking', utterance: phase.utterance, answer: phase.answer });
  } else if (phase.answer) {
    // The caller heard nothing during the pause either.
    draft.progressMs = phase.sinceMs;
    playAnswer(draft, phase.answer);
  }
}

/** Cuts the agent off; `playout.cleared` reports what was heard. */
export function cut(draft: Draft, rule: string): void {
  const { phase } = draft;
  if ((phase.is !== 'speaking' && phase.is !== 'paused') || !phase.utterance) return;
  const { utterance, answer } = phase;
  clearUtterance(draft, utterance, phase.is === 'paused');
  dropPendingGeneration(draft, answer, utterance);
  explain(draft, {
    about: 'interruption',
    rule,
    anchorMs: phase.is === 'paused' ? phase.sinceMs : draft.atMs,
    deadlineMs: draft.atMs,
  });
  progress(draft);
  enter(draft, { is: 'clearing', utterance, answer, next: null });
}

/**
 * Takes an utterance off the leg. One that never reached the leg leaves the leg paused, so the pause ends
 * here in any case.
 */
export function clearUtterance(draft: Draft, { replyId }: Utterance, isPaused: boolean): void {
  emit(draft, { do: 'clear', replyId });
  if (isPaused) emit(draft, { do: 'resume' });
}

/** Stops a generation that would have followed the utterance. */
export function dropPendingGeneration(
  draft: Draft,
  answer: Answer | null,
  utterance: Utterance | null,
): void {
  if (answer && answer.generation.replyId !== utterance?.replyId)
    emit(draft, { do: 'discard', replyId: answer.generation.replyId });
}

/** Adds the caller's words to the timeline once they can no longer grow. */
export function recordUser(draft: Draft, answer: Answer): Answer {
  if (answer.isRecorded) return answer;
  const { turn } = answer;
  if (turn.source !== 'event')
    recordMessage(draft, {
      role: 'user',
      content: turn.text,
      turnId: turn.turnId,
      createdAtMs: turn.startMs,
    });
  return { ...answer, isRecorded: true };
}

/** Records what was heard of an utterance, for the timeline and for its answer. */
export function recordHeard(draft: Draft, utterance: Utterance, heard: string): void {
  const answer = answerOf(draft);
  const text = heard.trim();
  if (answer)
    setAnswer(draft, {
      ...(text === '' ? answer : recordUser(draft, answer)),
      heard: { ...answer.heard, ...(utterance.kind === 'reply' ? { [utterance.replyId]: text } : {}) },
    });
  if (text === '' || (answer && isUnseen(answer.turn))) return;
  draft.lastSaid = { text, endMs: draft.atMs };
  if (!leavesQuestionOpen(draft, utterance, text)) draft.expects = expectedAfter(draft, utterance, text);
  recordMessage(draft, {
    role: 'assistant',
    content: text,
    turnId: utterance.turnId,
    createdAtMs: utterance.startedMs ?? draft.atMs,
  });
  if (utterance.kind === 'notice') draft.history = [...draft.history, { role: 'assistant', content: text }];
}

/** The answer that the words which were heard ask for: as the model says, if they are all of its reply. */
function expectedAfter(draft: Draft, { replyId }: Utterance, heard: string): Expectation | null {
  const { language, slots = [] } = draft.config;
  const answer = answerOf(draft);
  const said = answer?.turn.text ?? '';
  const generation = answer?.generation;
  const hint = generation?.replyId === replyId ? generation.expects : undefined;
  if (hint === undefined || normalised(heard) !== normalised(generation?.text ?? ''))
    return expectationOf(heard, language, { said, slots });
  return hint && withNames(hint, heard, said);
}

/** A hold line, "are you still there?" and a request to repeat, of which perhaps only a part was heard. */
function leavesQuestionOpen({ config }: Draft, { kind }: Utterance, heard: string): boolean {
  const { trouble, cannotHear, stillThere, back } = config.phrases;
  return kind === 'hold' || [trouble, cannotHear, stillThere, back].some((said) => said.startsWith(heard));
}

/** Ends an answer: its words become history. */
export function closeAnswer(draft: Draft, answer: Answer, isCut: boolean): void {
  const recorded = recordUser(draft, answer);
  draft.history = [...draft.history, ...answerMessages(recorded, isCut)];
  for (const { call, mode, result } of [
    ...answer.rounds.flatMap(({ calls }) => calls),
    ...answer.generation.calls,
  ])
    if (result === null && mode === 'blocking') emit(draft, { do: 'cancelTool', callId: call.callId });
}
