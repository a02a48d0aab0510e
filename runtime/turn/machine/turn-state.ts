/**
 * The turn machine's state: one phase at a time, the caller's side beside it, and what is remembered of the
 * conversation. All of it immutable.
 */

import type { AgentState } from '#protocol/session-events.ts';
import type { EndReason } from '#protocol/session-record.ts';
import type { ChatMessage, ToolCall } from '../../llm/llm.ts';
import type { Greeting } from './opening/answering-machine.ts';
import type { TurnConfig } from './turn-config.ts';
import type { ToolMode } from './turn-inputs.ts';

/** Bumped whenever the same inputs would give other effects; a flight log names the version that wrote it. */
export const TURN_MACHINE_VERSION = 14;

/** One stretch of the caller's talk: everything said until it is taken as a turn, pauses included. */
export interface Speech {
  readonly startMs: number;
  readonly finals: readonly string[];
  /** What the recogniser has of the rest; a final replaces it. */
  readonly interim: string;
  /** Whether it lasted long enough to pause the agent. */
  readonly hasReached: boolean;
  /** The agent has already waited for its words and gone on. */
  readonly wasIgnored: boolean;
  readonly voicedMs: number;
  /** Voice just before it whose words have not come either: a sentence with a breath in it. */
  readonly unheardMs: number;
  /** When it began or last had new words. */
  readonly movedMs: number;
  /** The recogniser was asked for its words since, although the voice went on. */
  readonly wasPressed: boolean;
  readonly speculations: number;
  /** The turn this speech goes on with, when that turn had no audible answer yet. */
  readonly continues: Turn | null;
}

/** The caller's side. */
export type Caller =
  | { readonly is: 'silent' }
  | { readonly is: 'talking'; readonly speech: Speech }
  | { readonly is: 'stopped'; readonly speech: Speech; readonly endMs: number; readonly endpoint: Endpoint };

/** How far the decision has come that the caller has finished. */
export interface Endpoint {
  readonly rule: string;
  /** When the turn is taken if nothing more is said. */
  readonly dueMs: number;
  /** The judgement has been made and the recogniser asked to finalise. */
  readonly isJudged: boolean;
  /** When the recogniser was asked to settle what was said; null where it was not. */
  readonly askedMs: number | null;
  /** Nothing more can come for what was said. */
  readonly isSettled: boolean;
}

/** What a transcript that comes without new speech belongs to. */
export type PendingTranscript =
  /** A turn taken on an interim: its final is expected and must not become a second turn. */
  | { readonly is: 'committed'; readonly text: string }
  /** Speech judged ignorable: its words are dropped. */
  | { readonly is: 'ignored' }
  /** Speech without words so far: words that come later are its turn. */
  | { readonly is: 'unheard'; readonly speech: Speech; readonly endMs: number };

/** What the agent answers. */
export interface Turn {
  readonly turnId: number;
  readonly source: 'speech' | 'typed' | 'keypad' | 'event';
  readonly text: string;
  readonly speech: Speech | null;
  readonly startMs: number;
  readonly speechEndMs: number;
  readonly dueMs: number;
  readonly committedMs: number;
  readonly rule: string;
  readonly wantsAudio: boolean;
  /** Said instead when the model fails (greeting, "are you still there?"). */
  readonly fallback: string | null;
  /**
   * Only worth saying to a caller who says nothing: dropped as long as nothing of it was heard and they say
   * something of their own.
   */
  readonly isForSilence: boolean;
}

/** One run of the model. */
export interface Generation {
  readonly replyId: string;
  readonly status: 'waiting' | 'streaming' | 'done';
  readonly attempt: number;
  readonly startedMs: number;
  readonly tokenMs: number | null;
  readonly pieceMs: number | null;
  readonly audioMs: number | null;
  /** The pieces so far, joined. */
  readonly text: string;
  readonly calls: readonly CallWithResult[];
}

/** A tool call of a generation and, once there, what the model is told of it. */
export interface CallWithResult {
  readonly call: ToolCall;
  readonly mode: ToolMode;
  readonly source: string;
  readonly result: string | null;
}

/** A generation that ended in tool calls; the next one continues from it. */
export interface ToolRound {
  readonly replyId: string;
  readonly text: string;
  readonly calls: readonly CallWithResult[];
}

/** The reply to one turn, from its commit to the end of its last word. */
export interface Answer {
  readonly turn: Turn;
  readonly rounds: readonly ToolRound[];
  readonly generation: Generation;
  readonly isSpeculative: boolean;
  /** The user's words are on the timeline. */
  readonly isRecorded: boolean;
  readonly isMeasured: boolean;
  readonly hasHoldLine: boolean;
  /** Text of each reply of this answer as it was heard, by reply. */
  readonly heard: Readonly<Record<string, string>>;
}

/** A generation begun before the caller was known to have finished. */
export interface Speculation {
  readonly generation: Generation;
  /** Normalised words it answers. */
  readonly words: string;
  readonly historyLength: number;
}

/** Agent speech that is being played or about to be. */
export interface Utterance {
  readonly replyId: string;
  readonly kind: 'reply' | 'notice' | 'hold' | 'farewell';
  readonly turnId: number | null;
  readonly isInterruptible: boolean;
  readonly startedMs: number | null;
  /** Text handed to synthesis so far. */
  readonly text: string;
}

/** The first words, made ready before they may be said: the notice, then the answer. */
export interface Prepared {
  readonly answer: Answer | null;
  readonly notice: Utterance | null;
}

/** Who has the floor. */
export type Phase =
  | ({ readonly is: 'connecting' } & Prepared)
  /**
   * The keypad menu before the conversation: `utterance` is its prompt while that plays, `after` what its end
   * leads to.
   */
  | {
      readonly is: 'menu';
      readonly utterance: Utterance | null;
      readonly attempt: number;
      readonly after: 'input' | 'retry' | 'greeting';
      /** The texts that name the chosen value are known. */
      readonly isReady: boolean;
    }
  /**
   * A mailbox has answered: its beep, or the end of its greeting, is awaited; `answer` is the message being
   * composed, `cut` what was being said to it.
   */
  | {
      readonly is: 'voicemail';
      readonly cut: Utterance | null;
      readonly answer: Answer | null;
      readonly isOpen: boolean;
      readonly capMs: number;
    }
  /** Nothing to say: the floor is the caller's. */
  | { readonly is: 'listening' }
  /** A turn is taken; nothing is audible yet. */
  | { readonly is: 'answering'; readonly answer: Answer }
  | { readonly is: 'speaking'; readonly utterance: Utterance; readonly answer: Answer | null }
  /**
   * The caller spoke up: the agent holds its breath until it is clear whether that was meant. `utterance` is
   * null before the first audio.
   */
  | {
      readonly is: 'paused';
      readonly utterance: Utterance | null;
      readonly answer: Answer | null;
      readonly sinceMs: number;
    }
  /** The agent was cut off; what was heard is not told yet. */
  | {
      readonly is: 'clearing';
      readonly utterance: Utterance;
      readonly answer: Answer | null;
      readonly next: Turn | null;
    }
  /**
   * The caller is being handed to a person. `utterance` is what is said before, `cut` a hold line it broke
   * off.
   */
  | {
      readonly is: 'transferring';
      readonly answer: Answer;
      readonly callId: string;
      readonly destination: number;
      readonly notes: string;
      readonly cut: Utterance | null;
      readonly utterance: Utterance | null;
    }
  /**
   * Caller and person hear each other: the agent has left. `answer` is the one that transferred, null where
   * another worker's did.
   */
  | { readonly is: 'joined'; readonly answer: Answer | null; readonly cut: Utterance | null }
  /**
   * A colleague talks with the caller. `cut` is what the agent was saying, until it is known what was heard
   * of it; `answer` what that belongs to.
   */
  | {
      readonly is: 'withHuman';
      readonly answer: Answer | null;
      readonly cut: Utterance | null;
      /** The talk so far, for the model. */
      readonly lines: readonly string[];
      /** The call's time ran out meanwhile. */
      readonly isTimeUp: boolean;
    }
  /** The barrier before the end: nothing is listened to any more. */
  | {
      readonly is: 'ending';
      readonly reason: EndReason;
      readonly cut: Utterance | null;
      readonly utterance: Utterance | null;
      readonly answer: Answer | null;
    }
  | { readonly is: 'ended'; readonly reason: EndReason };

/** The whole state. */
export interface TurnState {
  readonly config: TurnConfig;
  readonly phase: Phase;
  readonly caller: Caller;
  /** Nobody can be heard or spoken to until another leg is connected; replies wait for it. */
  readonly isLegLost: boolean;
  readonly pendingTranscript: PendingTranscript | null;
  /** What the agent said last, as far as it was heard. */
  readonly lastSaid: { readonly text: string; readonly endMs: number } | null;
  readonly speculation: Speculation | null;
  /** The conversation as the model is shown it: what was heard, not what was generated. */
  readonly history: readonly ChatMessage[];
  /** Turns taken while the agent could not be interrupted, and tool results that came in the background. */
  readonly waiting: readonly Turn[];
  readonly recognizer: { readonly is: 'open' | 'reopening' | 'none'; readonly failures: number };
  /**
   * How long the recogniser took when it was last asked to settle a turn's words; null before the first, and
   * after one that was taken without them.
   */
  readonly finalTookMs: number | null;
  readonly lastReply: number;
  readonly lastTurn: number;
  readonly lastMessage: number;
  /** Outbound: what was heard of whoever answered, while that may still be a machine. */
  readonly screening: Screening | null;
  /** Digits of the entry in progress. */
  readonly digits: string;
  /** How long both sides have been quiet, without the stretch since `sinceMs`. */
  readonly quiet: { readonly beforeMs: number; readonly sinceMs: number | null; readonly prompts: number };
  readonly failedGenerations: number;
  /** Calls whose result is still expected, whoever waits for it. */
  readonly runningTools: Readonly<Record<string, RunningTool>>;
  /** Bounded average of the caller's own pauses inside turns. */
  readonly pauseMs: number;
  readonly hasSaidCannotHear: boolean;
  /** Times in a row that the caller was asked for words that never came. */
  readonly unheardInARow: number;
  readonly progressMs: number;
  /** Said behind the barrier, after the closing reply. */
  readonly farewell: string;
  readonly agentState: AgentState;
}

/** What was heard since an outbound call was answered. */
export interface Screening {
  readonly greeting: Greeting;
  /** Words that will not change again. */
  readonly finals: string;
  /** The agent has answered a turn of theirs. */
  readonly hasTalked: boolean;
}

/** A tool call in flight. */
export interface RunningTool {
  readonly call: ToolCall;
  readonly mode: ToolMode;
  readonly source: string;
  readonly turnId: number;
}

/** Where the average of the caller's pauses starts. */
export const USUAL_PAUSE_MS = 600;

/** The state of a call before its first input. */
export function initialState(config: TurnConfig): TurnState {
  return {
    config,
    phase: { is: 'connecting', answer: null, notice: null },
    caller: { is: 'silent' },
    isLegLost: false,
    pendingTranscript: null,
    lastSaid: null,
    speculation: null,
    history: config.resumed?.history ?? [],
    waiting: [],
    recognizer: { is: config.recognition.has === 'none' ? 'none' : 'open', failures: 0 },
    finalTookMs: null,
    lastReply: 0,
    lastTurn: config.resumed?.lastTurn ?? 0,
    lastMessage: config.resumed?.lastMessage ?? 0,
    screening: null,
    digits: '',
    quiet: { beforeMs: 0, sinceMs: null, prompts: 0 },
    failedGenerations: 0,
    runningTools: {},
    pauseMs: USUAL_PAUSE_MS,
    hasSaidCannotHear: false,
    unheardInARow: 0,
    progressMs: 0,
    farewell: '',
    agentState: 'initializing',
  };
}

/** All words of a speech so far. */
export function speechText(speech: Speech): string {
  const { finals, interim } = speech;
  if (finals.length === 0) return interim;
  return interim === '' ? finals.join(' ') : `${finals.join(' ')} ${interim}`;
}
