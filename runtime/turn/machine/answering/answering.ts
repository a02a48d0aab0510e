/**
 * From a taken turn to the end of its answer: generation, tools, hold lines, failures, and what follows.
 * Timers: `hold` starts when a turn is taken and when tools run, and is cancelled by the first audio;
 * `progress` is the watchdog of every state in which the agent has the floor.
 */

import { normalised } from '../../text/normalised.ts';
import { type Draft, emit, explain, record } from '../draft.ts';
import { beginEnding, hangUpBy } from '../ending/ending.ts';
import { transferBy } from '../ending/transfer-call.ts';
import {
  closeAnswer,
  noteBackendProgress,
  playAnswer,
  prepare,
  progress,
  recordUser,
  say,
  speak,
  utteranceOf,
} from '../floor/floor.ts';
import { answerOf, isUnnoticed, newAnswer, setAnswer, startGeneration } from '../floor/generating.ts';
import { pressWhenSaid } from '../floor/press-keys.ts';
import { runCall } from '../floor/tool-calls.ts';
import { isAutomated } from '../line-state.ts';
import { enter, startPhaseTimer } from '../phases.ts';
import type { TurnInput } from '../turn-inputs.ts';
import type { Answer, Generation, Turn } from '../turn-state.ts';
import { refuseClaim } from './claimed-keys.ts';
import { holdDueMs } from './hold-line.ts';
import { reportWaterfall } from './waterfall.ts';

/** After this long a blocking tool gets a filler. */
const TOOL_FILLER_MS = 1_500;
const ATTEMPTS = 2;
/** Failures in a row that end the call as `llm_endpoint_failure`. */
const FAILURES_IN_A_ROW = 3;
/** Tool rounds per turn, so that the model cannot call tools forever. */
const MAX_ROUNDS = 8;

/** Takes a turn; the floor must be free. A speculative reply to the same words becomes its answer. */
export function takeTurn(draft: Draft, turn: Turn): void {
  const { speculation } = draft;
  draft.speculation = null;
  draft.quiet = { beforeMs: 0, sinceMs: null, prompts: turn.source === 'event' ? draft.quiet.prompts : 0 };
  const isReusable =
    speculation !== null &&
    speculation.words === normalised(turn.text) &&
    speculation.historyLength === draft.history.length &&
    turn.source === 'speech';
  if (speculation)
    explain(draft, {
      about: 'speculation',
      rule: isReusable ? 'reused' : 'words_changed',
      anchorMs: speculation.generation.startedMs,
      deadlineMs: draft.atMs,
    });
  if (speculation && !isReusable) emit(draft, { do: 'discard', replyId: speculation.generation.replyId });
  if (isReusable) emit(draft, { do: 'commit', replyId: speculation.generation.replyId });
  // Typed text is not echoed: the page that sent it shows it.
  if (turn.source === 'speech' || turn.source === 'keypad')
    emit(draft, {
      do: 'event',
      event: { type: 'transcript', role: 'user', segmentId: `u${turn.turnId}`, text: turn.text, final: true },
    });
  const generation = isReusable
    ? speculation.generation
    : startGeneration(draft, turn, { rounds: [], attempt: 1, isSpeculative: false });
  const answer = newAnswer(turn, generation, { isSpeculative: isReusable });
  progress(draft);
  enter(draft, { is: 'answering', answer });
  startPhaseTimer(draft, 'hold', holdDueMs(turn));
  playAnswer(draft, answer);
  // Tool calls the speculation was not allowed to run.
  for (const { call } of generation.calls) runCall(draft, call.callId);
  if (isReusable && generation.status === 'done') onGenerated(draft);
}

/** The answer's current generation has ended. */
export function onGenerated(draft: Draft): void {
  if (draft.phase.is === 'ending') return;
  const refused = refuseClaim(draft);
  if (refused) {
    generateAgain(draft, refused);
    return;
  }
  const answer = answerOf(draft);
  if (!answer) return;
  const { generation } = answer;
  if (hasSaidAll(answer)) {
    // Its words before the tools ran were the answer.
    draft.failedGenerations = 0;
    if (draft.phase.is === 'answering' || (draft.phase.is === 'paused' && draft.phase.utterance === null))
      finishAnswer(draft, answer);
    return;
  }
  if (generation.text === '' && generation.calls.length === 0) {
    onFailed(draft, {
      stage: 'model',
      message: 'the model returned nothing',
      status: null,
      isRetryable: true,
    });
    return;
  }
  draft.failedGenerations = 0;
  if (pressWhenSaid(draft)) return;
  if (generation.calls.some(({ mode }) => mode === 'hang_up')) onHangUpCalled(draft, answer);
  else if (generation.calls.some(({ mode, result }) => mode === 'transfer' && result === null))
    onTransferCalled(draft, answer);
  else followTools(draft);
}

/** The model has nothing to add to its words before the tools ran. */
function hasSaidAll({ generation, rounds }: Answer): boolean {
  const addsNothing = generation.status === 'done' && generation.text === '' && generation.calls.length === 0;
  return addsNothing && rounds.some((round) => round.text !== '');
}

function finishAnswer(draft: Draft, answer: Answer): void {
  emit(draft, { do: 'discard', replyId: answer.generation.replyId });
  closeAnswer(draft, answer, false);
  freeFloor(draft);
}

function onHangUpCalled(draft: Draft, answer: Answer): void {
  const hangUp = hangUpBy(draft, answer);
  if (hangUp === 'ends') return;
  // The closing words ask a question: they are spoken, and the caller answers first.
  if (answer.generation.text === '') followTools(draft);
}

function onTransferCalled(draft: Draft, answer: Answer): void {
  const transfer = transferBy(draft, answer);
  if (transfer === 'refused' || (transfer === 'asks' && answer.generation.text === '')) followTools(draft);
}

/** Asks the model to continue once every tool of its last generation has answered. */
export function followTools(draft: Draft): void {
  const answer = answerOf(draft);
  if (
    !answer ||
    (draft.phase.is !== 'answering' && draft.phase.is !== 'speaking' && draft.phase.is !== 'paused')
  )
    return;
  const { generation, rounds } = answer;
  if (pressWhenSaid(draft) || generation.status !== 'done' || generation.calls.length === 0) return;
  if (generation.calls.some(({ result }) => result === null)) {
    if (!answer.hasHoldLine && generation.text === '')
      startPhaseTimer(draft, 'hold', draft.atMs + TOOL_FILLER_MS);
    return;
  }
  if (rounds.length >= MAX_ROUNDS) {
    giveUp(draft, answer);
    return;
  }
  const round = { replyId: generation.replyId, text: generation.text, calls: generation.calls };
  generateAgain(draft, { ...answer, rounds: [...rounds, round] });
}

/** Asks the model to continue after the last round of the answer. */
function generateAgain(draft: Draft, answer: Answer): void {
  const { rounds, turn } = answer;
  const generation = startGeneration(draft, turn, { rounds, attempt: 1, isSpeculative: false });
  const next = { ...answer, generation };
  setAnswer(draft, next);
  noteBackendProgress(draft);
  if (draft.phase.is === 'answering') playAnswer(draft, next);
}

/** The first audio of a reply exists. */
export function onAudible(draft: Draft, replyId: string): void {
  const { phase } = draft;
  noteBackendProgress(draft);
  if (phase.is === 'answering' && phase.answer.generation.replyId === replyId)
    speak(draft, utteranceOf(draft, phase.answer.turn, phase.answer.generation), phase.answer);
}

/** An utterance of the answer was played to its end: decides what comes next. */
export function onUtteranceDone(draft: Draft, replyId: string): void {
  progress(draft);
  const answer = answerOf(draft);
  if (!answer) {
    freeFloor(draft);
    return;
  }
  const { generation } = answer;
  if (generation.replyId !== replyId) {
    if (hasSaidAll(answer) && isHeardOut(answer)) finishAnswer(draft, answer);
    else playAnswer(draft, answer);
    pressWhenSaid(draft);
    return;
  }
  const isWaiting = generation.calls.some(({ result, mode }) => result === null && mode !== 'hang_up');
  if (isWaiting || generation.status !== 'done') {
    enter(draft, { is: 'answering', answer });
    if (pressWhenSaid(draft)) return;
    if (isWaiting && !answer.hasHoldLine) startPhaseTimer(draft, 'hold', draft.atMs + TOOL_FILLER_MS);
    return;
  }
  closeAnswer(draft, answer, false);
  freeFloor(draft);
}

function isHeardOut({ heard, rounds }: Answer): boolean {
  return rounds.every((round) => round.text === '' || heard[round.replyId] !== undefined);
}

/** The caller said something: texts meant for a silent caller are dropped. True when that freed the floor. */
export function yieldToCaller(draft: Draft): boolean {
  draft.waiting = draft.waiting.filter((turn) => !turn.isForSilence);
  const { phase } = draft;
  if (phase.is !== 'answering' || !phase.answer.turn.isForSilence || !isUnnoticed(phase.answer)) return false;
  explain(draft, {
    about: 'silence',
    rule: 'caller_first',
    anchorMs: phase.answer.turn.committedMs,
    deadlineMs: draft.atMs,
  });
  emit(draft, { do: 'discard', replyId: phase.answer.generation.replyId });
  enter(draft, { is: 'listening' });
  return true;
}

/** The floor is free: the first waiting item gets it. */
export function freeFloor(draft: Draft): void {
  enter(draft, { is: 'listening' });
  const [first, ...rest] = draft.waiting;
  // A result is not for an automated line: it waits for a person.
  if (!first || (first.source === 'event' && (draft.caller.is !== 'silent' || isAutomated(draft.line))))
    return;
  draft.waiting = rest;
  takeTurn(draft, { ...first, committedMs: draft.atMs });
}

/** A generation failed, or was empty. */
export function onFailed(
  draft: Draft,
  failure: { stage: 'model' | 'synthesis'; message: string; status: number | null; isRetryable: boolean },
): void {
  const answer = answerOf(draft);
  if (!answer) return;
  const { generation, turn } = answer;
  if (failure.stage === 'model')
    record(draft, {
      type: 'llm.endpoint_error',
      message: failure.message,
      status: failure.status,
      turn_id: turn.turnId,
      createdAtMs: draft.atMs,
    });
  if (generation.audioMs !== null || (failure.stage === 'model' && generation.text !== '')) {
    // Part of it is on its way to the caller and stands as the answer.
    draft.failedGenerations += 1;
    return;
  }
  if (generation.calls.length > 0) {
    // Tools do not run twice: the model continues from their results.
    setAnswer(draft, { ...answer, generation: { ...generation, text: '' } });
    followTools(draft);
    return;
  }
  if (failure.isRetryable && generation.attempt < ATTEMPTS) {
    explain(draft, {
      about: 'failure',
      rule: 'retried',
      anchorMs: generation.startedMs,
      deadlineMs: draft.atMs,
    });
    const next = {
      ...answer,
      generation: startGeneration(draft, turn, {
        rounds: answer.rounds,
        attempt: generation.attempt + 1,
        isSpeculative: false,
      }),
    };
    setAnswer(draft, next);
    noteBackendProgress(draft);
    if (draft.phase.is === 'answering') playAnswer(draft, next);
    return;
  }
  giveUp(draft, answer);
}

/** The model will not answer: the agent says so. */
function giveUp(draft: Draft, answer: Answer): void {
  draft.failedGenerations += 1;
  const isLast = draft.failedGenerations >= FAILURES_IN_A_ROW;
  explain(draft, {
    about: 'failure',
    rule: isLast ? 'gave_up_call' : 'gave_up_turn',
    anchorMs: answer.turn.committedMs,
    deadlineMs: draft.atMs,
  });
  if (isLast) {
    beginEnding(draft, 'llm_endpoint_failure', draft.config.phrases.apology);
    return;
  }
  const { phase } = draft;
  const line = answer.turn.fallback ?? draft.config.phrases.trouble;
  if (phase.is === 'connecting') {
    enter(draft, { ...phase, answer: null });
    draft.waiting = [...draft.waiting, answer.turn];
    return;
  }
  if (isAutomated(draft.line) && answer.turn.fallback === null) {
    // There is nobody to apologise to.
    closeAnswer(draft, answer, false);
    freeFloor(draft);
    return;
  }
  const isBusy = (phase.is === 'speaking' || phase.is === 'paused') && phase.utterance !== null;
  if (isBusy) {
    // Its hold line is still playing: the line after it becomes the answer.
    const { replyId } = prepare(draft, line, {
      kind: 'reply',
      turnId: answer.turn.turnId,
      isSpoken: answer.turn.wantsAudio,
    });
    setAnswer(draft, { ...answer, generation: replacement(draft, replyId, line) });
    return;
  }
  closeAnswer(draft, answer, false);
  say(draft, line, {
    kind: 'notice',
    turnId: answer.turn.turnId,
    answer: null,
    isSpoken: answer.turn.wantsAudio,
  });
}

function replacement(draft: Draft, replyId: string, text: string): Generation {
  return {
    replyId,
    status: 'done',
    attempt: ATTEMPTS,
    startedMs: draft.atMs,
    tokenMs: null,
    pieceMs: null,
    audioMs: null,
    text,
    calls: [],
  };
}

/** The first audio of a reply was sent on the wire. */
export function onPlayoutStarted(draft: Draft, input: Extract<TurnInput, { type: 'playout.started' }>): void {
  const { phase } = draft;
  progress(draft);
  if (
    !('utterance' in phase) ||
    !phase.utterance ||
    phase.utterance.replyId !== input.replyId ||
    phase.utterance.startedMs !== null
  )
    return;
  enter(draft, { ...phase, utterance: { ...phase.utterance, startedMs: input.wireMs } });
  const answer = answerOf(draft);
  if (!answer || phase.utterance.kind !== 'reply') return;
  setAnswer(draft, { ...recordUser(draft, answer), isMeasured: true });
  if (!answer.isMeasured && answer.turn.source === 'speech') reportWaterfall(draft, answer, input.wireMs);
}
