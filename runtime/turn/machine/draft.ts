/**
 * The next state under construction: handlers assign new values to the draft's fields and add effects. Values
 * inside a field are never mutated.
 */
import type { ConversationTimer } from './timers.ts';
import type { Decision, Effect, TimelineItem } from './turn-effects.ts';
import type { Phase, TurnState } from './turn-state.ts';

/** A state during a step. Only `enter` changes the phase. */
export type Draft = { -readonly [K in Exclude<keyof TurnState, 'phase'>]: TurnState[K] } & {
  readonly phase: Phase;
  readonly effects: Effect[];
  readonly atMs: number;
};

/** Starts a step at `atMs`. */
export function createDraft(state: TurnState, atMs: number): Draft {
  return { ...state, effects: [], atMs };
}

/**
 * Ends a step and returns the state without the step's own fields. They are copied by name: a rest pattern
 * took a fifth of the turn loop's time.
 */
export function finishDraft(draft: Draft): { state: TurnState; effects: readonly Effect[] } {
  const state: TurnState = {
    config: draft.config,
    texts: draft.texts,
    hasOptedOut: draft.hasOptedOut,
    phase: draft.phase,
    caller: draft.caller,
    isLegLost: draft.isLegLost,
    pendingTranscript: draft.pendingTranscript,
    heard: draft.heard,
    lastSaid: draft.lastSaid,
    expects: draft.expects,
    speculation: draft.speculation,
    history: draft.history,
    waiting: draft.waiting,
    recognizer: draft.recognizer,
    finalTookMs: draft.finalTookMs,
    lastReply: draft.lastReply,
    lastTurn: draft.lastTurn,
    lastMessage: draft.lastMessage,
    screening: draft.screening,
    line: draft.line,
    digits: draft.digits,
    quiet: draft.quiet,
    failedGenerations: draft.failedGenerations,
    runningTools: draft.runningTools,
    pauseMs: draft.pauseMs,
    hasSaidCannotHear: draft.hasSaidCannotHear,
    unheardInARow: draft.unheardInARow,
    progressMs: draft.progressMs,
    farewell: draft.farewell,
    agentState: draft.agentState,
  };
  return { state, effects: draft.effects };
}

/** Adds effects other than those on timers, which have functions of their own. */
export function emit(
  draft: Draft,
  ...effects: readonly Exclude<Effect, { do: 'startTimer' | 'stopTimer' }>[]
): void {
  draft.effects.push(...effects);
}

/** Starts a timer of the conversation, or moves a running one. Timers of a phase: phases.ts. */
export function startTimer(draft: Draft, name: ConversationTimer, atMs: number): void {
  draft.effects.push({ do: 'startTimer', name, atMs });
}

/** Stops timers of the conversation, running or not. */
export function stopTimers(draft: Draft, ...names: readonly ConversationTimer[]): void {
  for (const name of names) draft.effects.push({ do: 'stopTimer', name });
}

/** Records the reason of a decision. */
export function explain(draft: Draft, decision: Decision): void {
  draft.effects.push({ do: 'explain', decision });
}

/** Adds an entry to the timeline. */
export function record(draft: Draft, item: TimelineItem): void {
  draft.effects.push({ do: 'record', item });
}

/** A new id for a piece of agent speech. */
export function nextReplyId(draft: Draft): string {
  draft.lastReply += 1;
  return `r${draft.lastReply}`;
}

/** Adds a message to the timeline. */
export function recordMessage(
  draft: Draft,
  message: {
    role: 'user' | 'assistant' | 'human';
    content: string;
    turnId: number | null;
    createdAtMs: number;
  },
): void {
  draft.lastMessage += 1;
  const { role, content, turnId, createdAtMs } = message;
  record(draft, {
    type: 'message',
    role,
    content,
    turn_id: turnId,
    id: `m${draft.lastMessage}`,
    createdAtMs,
  });
}
