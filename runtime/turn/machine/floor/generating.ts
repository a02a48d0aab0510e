/**
 * Model runs of the turn machine: starting one, finding the one an input belongs to, and what the model is
 * shown.
 */
import type { ChatMessage } from '../../../llm/llm.ts';
import { CUT_OFF_MARK } from '../../text/cues.ts';
import { type Draft, emit, nextReplyId } from '../draft.ts';
import { enter } from '../phases.ts';
import type { Answer, CallWithResult, Generation, ToolRound, Turn } from '../turn-state.ts';

const NO_RESULT =
  'Cancelled: the caller spoke before the result came. It may have taken effect all the same.';

/** Tells the model, as an event of the call, why it is asked again. */
const CLAIMED =
  '[Your reply was not spoken: it says that you press keys, and it pressed none. Only the tool _press_keys ' +
  'presses keys. Call it now, or answer without saying so.]';

/** The phase's answer, if it has one. */
export function answerOf(draft: Draft): Answer | null {
  return 'answer' in draft.phase ? draft.phase.answer : null;
}

/** The answer to a turn before anything of it was heard. */
export function newAnswer(
  turn: Turn,
  generation: Generation,
  { isSpeculative = false, hasHoldLine = false }: Partial<Pick<Answer, 'isSpeculative' | 'hasHoldLine'>> = {},
): Answer {
  return {
    turn,
    rounds: [],
    generation,
    isSpeculative,
    isRecorded: false,
    isMeasured: false,
    hasHoldLine,
    heard: {},
  };
}

/** The call by which the answer presses keys, until they are sent. */
export function unpressedKeys({ generation }: Answer): CallWithResult | undefined {
  return generation.calls.find(({ mode, result }) => mode === 'keys' && result === null);
}

/** Puts a changed answer into the phase. */
export function setAnswer(draft: Draft, answer: Answer): void {
  if ('answer' in draft.phase) enter(draft, { ...draft.phase, answer });
}

/** Changes the generation an input is about; null when it is no longer wanted. */
export function changeGeneration(
  draft: Draft,
  replyId: string,
  change: (generation: Generation) => Generation,
): Generation | null {
  const { speculation } = draft;
  if (speculation?.generation.replyId === replyId) {
    const generation = change(speculation.generation);
    draft.speculation = { ...speculation, generation };
    return generation;
  }
  const answer = answerOf(draft);
  if (answer?.generation.replyId !== replyId) return null;
  const generation = change(answer.generation);
  setAnswer(draft, { ...answer, generation });
  return generation;
}

/** Starts a generation for a turn. None of it is played before `play`. */
export function startGeneration(
  draft: Draft,
  turn: Turn,
  options: { rounds: readonly ToolRound[]; attempt: number; isSpeculative: boolean },
): Generation {
  const replyId = nextReplyId(draft);
  emit(draft, {
    do: 'generate',
    replyId,
    turnId: turn.turnId,
    messages: [...draft.history, ...turnMessages(turn, options.rounds)],
    isSpeculative: options.isSpeculative,
    isSpoken: turn.wantsAudio,
    ...(isUnseen(turn) && { isUnseen: true }),
  });
  return {
    replyId,
    status: 'waiting',
    attempt: options.attempt,
    startedMs: draft.atMs,
    tokenMs: null,
    pieceMs: null,
    audioMs: null,
    text: '',
    calls: [],
  };
}

/** The reply to it chooses from a menu by keys, so its words are for nobody. */
export function isUnseen({ rule }: Turn): boolean {
  return rule === 'line_menu';
}

function turnMessages(turn: Turn, rounds: readonly ToolRound[]): ChatMessage[] {
  return [
    { role: 'user', content: turn.text },
    ...rounds.flatMap(({ calls, isRefused, text }) => [
      ...roundMessages(text, calls),
      ...(isRefused ? [{ role: 'user' as const, content: CLAIMED }] : []),
    ]),
  ];
}

function roundMessages(content: string, calls: readonly CallWithResult[]): ChatMessage[] {
  if (calls.length === 0) return content === '' ? [] : [{ role: 'assistant', content }];
  return [
    { role: 'assistant', content, toolCalls: calls.map(({ call }) => call) },
    ...calls.map(({ call, result }) => ({
      role: 'tool' as const,
      callId: call.callId,
      toolName: call.toolName,
      content: result ?? NO_RESULT,
    })),
  ];
}

/** What the model sees of a finished or cut-off answer: the words that were heard, and the tools that ran. */
export function answerMessages(answer: Answer, isCut: boolean): ChatMessage[] {
  const { generation, rounds, heard, turn } = answer;
  const runs = [...rounds, { replyId: generation.replyId, text: generation.text, calls: generation.calls }];
  const said = runs.flatMap((run) => roundMessages(heard[run.replyId] ?? '', run.calls));
  const last = said.at(-1);
  if (isCut && last?.role === 'assistant')
    said[said.length - 1] = { ...last, content: `${last.content} ${CUT_OFF_MARK}` };
  return [{ role: 'user', content: turn.text }, ...said];
}

/**
 * True when the answer had no noticeable effect: nothing was heard, recorded or run, so its turn can still
 * grow.
 */
export function isUnnoticed(answer: Answer): boolean {
  return !answer.isRecorded && answer.rounds.length === 0 && answer.generation.calls.length === 0;
}

/** Discards the speculative generation, if there is one. */
export function dropSpeculation(draft: Draft): void {
  if (draft.speculation) emit(draft, { do: 'discard', replyId: draft.speculation.generation.replyId });
  draft.speculation = null;
}
