/**
 * Keys that the agent presses (`_press_keys`): asked for by a reply, sent after its words, and their result.
 * The deadline of the phase is for a line that takes no audio, such as one on hold.
 */
import { longestPressMs } from '#config/telephone-keys.ts';
import { EXTENSION_PRESS, PRESS_KEYS, shownKeysOf } from '../../../tools/press-keys.ts';
import { type Draft, emit } from '../draft.ts';
import { enter } from '../phases.ts';
import type { Answer, CallWithResult, Phase } from '../turn-state.ts';
import { resume } from './floor.ts';
import { answerOf, setAnswer, unpressedKeys } from './generating.ts';
import { releaseWords } from './reply-words.ts';
import { noteResult, withResult } from './tool-results.ts';

const NO_KEYS =
  'Not pressed: keys are 0 to 9, *, #, A to D, with the pauses w, W and comma, at most 64 characters and a ' +
  'minute of pauses.';
const ONE_PRESS = 'Not pressed: a reply presses keys once. Put all of them into one call, with pauses.';
/** Time for the leg to answer, beyond that of the keys. */
const ANSWER_MS = 3_000;

/** How a press ended, for the timeline and the model. */
export type PressOutcome = 'pressed' | 'no_line' | 'cut_off';
const TEXTS: Readonly<Record<PressOutcome, string>> = {
  pressed: 'The keys were pressed.',
  no_line: 'Not all keys could be pressed: the line takes no audio at the moment.',
  cut_off: 'Cut off before all keys were pressed.',
};

/** The latest end of a press that begins now. */
export function pressDueMs({ atMs }: Pick<Draft, 'atMs'>, keys: string): number {
  return atMs + longestPressMs(keys) + ANSWER_MS;
}

/**
 * The model asks for keys. Those that cannot be pressed are refused at once; otherwise what the agent says
 * before them is heard out.
 */
export function askForKeys(draft: Draft, callId: string): void {
  const answer = answerOf(draft);
  const asked = answer?.generation.calls.find(({ call }) => call.callId === callId);
  if (!answer || !asked) return;
  const isSecond = unpressedKeys(answer) !== asked;
  if (isSecond || shownKeysOf(asked.call.input) === null) {
    settle(draft, asked, { isDone: false, text: isSecond ? ONE_PRESS : NO_KEYS });
    return;
  }
  releaseWords(draft);
  if (draft.phase.is === 'paused') resume(draft);
  const { phase } = draft;
  if (phase.is === 'speaking')
    enter(draft, { ...phase, utterance: { ...phase.utterance, isInterruptible: false } });
}

/**
 * Presses the keys of the answer once all of its words have been heard. False if it has none, or they have
 * been pressed.
 */
export function pressWhenSaid(draft: Draft): boolean {
  const answer = answerOf(draft);
  const asked = answer ? unpressedKeys(answer) : undefined;
  if (!answer || !asked) return false;
  const isSaid = answer.generation.status === 'done' && !hasUnsaidWords(answer);
  const keys = shownKeysOf(asked.call.input);
  if (draft.phase.is !== 'answering' || !isSaid || keys === null) return true;
  const { callId } = asked.call;
  enter(draft, { is: 'pressing', answer, callId, sinceMs: draft.atMs, dueMs: pressDueMs(draft, keys) });
  emit(draft, { do: 'pressKeys', pressId: callId, keys });
  return true;
}

/** Records how the press of this phase ended; for the model, too. */
export function settlePress(
  draft: Draft,
  phase: Extract<Phase, { is: 'pressing' }>,
  outcome: PressOutcome,
): void {
  const asked = phase.answer.generation.calls.find(({ call }) => call.callId === phase.callId);
  if (outcome !== 'pressed') emit(draft, { do: 'dropKeys' });
  if (asked)
    settle(draft, asked, { isDone: outcome === 'pressed', text: TEXTS[outcome], sinceMs: phase.sinceMs });
}

/** Records how the extension was dialled. */
export function settleExtension(draft: Draft, sinceMs: number, outcome: PressOutcome): void {
  if (outcome !== 'pressed') emit(draft, { do: 'dropKeys' });
  note(draft, {
    callId: EXTENSION_PRESS,
    toolName: PRESS_KEYS,
    source: 'builtin',
    turnId: null,
    isDone: outcome === 'pressed',
    text: TEXTS[outcome],
    sinceMs,
  });
}

/** The agent loses the call while keys are being pressed: it ends, or a colleague or a mailbox has it. */
export function abandonPress(draft: Draft): void {
  const { phase } = draft;
  if (phase.is === 'pressing') settlePress(draft, phase, 'cut_off');
  if (phase.is === 'connecting' && phase.extension)
    settleExtension(draft, phase.extension.sinceMs, 'cut_off');
}

function settle(
  draft: Draft,
  { call, source }: CallWithResult,
  outcome: { readonly isDone: boolean; readonly text: string; readonly sinceMs?: number },
): void {
  const answer = answerOf(draft);
  if (!answer) return;
  setAnswer(draft, withResult(answer, call.callId, outcome.text));
  const { callId, toolName } = call;
  note(draft, { callId, toolName, source, turnId: answer.turn.turnId, sinceMs: draft.atMs, ...outcome });
}

function note(
  draft: Draft,
  result: {
    readonly callId: string;
    readonly toolName: string;
    readonly source: string;
    readonly turnId: number | null;
    readonly isDone: boolean;
    readonly text: string;
    readonly sinceMs: number;
  },
): void {
  const { callId, isDone, sinceMs, text } = result;
  noteResult(
    draft,
    {
      callId,
      status: isDone ? 'completed' : 'failed',
      output: isDone ? JSON.stringify({ result: text }) : null,
      outputTruncated: false,
      error: isDone ? null : text,
      latencyMs: Math.round(draft.atMs - sinceMs),
    },
    result,
  );
}

function hasUnsaidWords({ generation, heard, rounds }: Answer): boolean {
  return [...rounds, generation].some(({ replyId, text }) => text !== '' && heard[replyId] === undefined);
}
