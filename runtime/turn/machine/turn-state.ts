/**
 * The turn machine's state: one phase at a time, the caller's side, and the conversation's memory. Immutable.
 */

import type { AgentState } from '#protocol/session-events.ts';
import type { EndReason } from '#protocol/session-record.ts';
import type { ChatMessage, ToolCall } from '../../llm/llm.ts';
import type { Expectation } from '../text/expectation.ts';
import type { Judgement } from './endpointing/expected-answer.ts';
import { lastAsked } from './last-asked.ts';
import { type LineOf, lineAtStart } from './line-of.ts';
import type { Greeting } from './opening/answering-machine.ts';
import type { TurnConfig, VariableTexts } from './turn-config.ts';
import type { ToolMode } from './turn-inputs.ts';

/** Increase when equal inputs would give different effects; a flight log names the version that wrote it. */
export const TURN_MACHINE_VERSION = 22;

/** The caller's speech until it is taken as a turn, including pauses. */
export interface Speech {
  readonly startMs: number;
  readonly finals: readonly string[];
  /** Interim words after the finals; replaced by the next final. */
  readonly interim: string;
  /** True once it was long enough to pause the agent. */
  readonly isLongEnoughToPause: boolean;
  /** The agent already waited for its words and resumed. */
  readonly wasIgnored: boolean;
  /** The part of the agent's words that was heard when the voice began last; null if it was silent. */
  readonly over: Heard | null;
  readonly voicedMs: number;
  /** Voice shortly before it whose words are still missing: one sentence with a breath in it. */
  readonly unheardMs: number;
  /** Time of its start or of its latest new words. */
  readonly newWordsMs: number;
  /** Its words were requested since then, although the voice continued. */
  readonly wordsRequested: boolean;
  readonly speculations: number;
  /** The turn this speech continues, if that had no audible answer yet. */
  readonly continues: Turn | null;
}

/** The part of an utterance that was heard: the first `chars` characters of its text. */
export interface Heard {
  readonly replyId: string;
  readonly chars: number;
}

/** The caller's side. */
export type Caller =
  | { readonly is: 'silent' }
  | { readonly is: 'talking'; readonly speech: Speech }
  | { readonly is: 'stopped'; readonly speech: Speech; readonly endMs: number; readonly endpoint: Endpoint };

/** State of the decision whether the caller has finished. */
export interface Endpoint {
  readonly rule: string;
  /** The judgement that set `dueMs`; absent if none did. */
  readonly judgement?: Judgement;
  /** When the turn is taken if no more is said. */
  readonly dueMs: number;
  /** The turn was judged and the recogniser asked to finalise. */
  readonly isJudged: boolean;
  /** When the recogniser was asked for final words; null if it was not. */
  readonly askedMs: number | null;
  /** No more words can arrive for this speech. */
  readonly isSettled: boolean;
}

/** What a transcript without new speech belongs to. */
export type PendingTranscript =
  /** A turn taken on an interim: its final is expected and must not become a second turn. */
  | { readonly is: 'committed'; readonly text: string }
  /** Speech judged ignorable: later words are dropped. */
  | { readonly is: 'ignored' }
  /** Speech without words so far: later words become its turn. */
  | { readonly is: 'unheard'; readonly speech: Speech; readonly endMs: number };

/** A turn that the agent answers. */
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
  /** The expected answer and how much of it the caller said; absent if that did not decide. */
  readonly expectation?: string | undefined;
  readonly wantsAudio: boolean;
  /** Spoken instead when the model fails (greeting, "are you still there?"). */
  readonly fallback: string | null;
  /** Only meant for a silent caller: dropped if the caller speaks before any of it was heard. */
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
  /** The pieces so far, joined, without those that are held. */
  readonly text: string;
  /** Pieces that are not said before the reply presses keys, because they claim it; absent without any. */
  readonly held?: string;
  /** The answer that the model says it expects; null: any. Absent if it says nothing. */
  readonly expects?: Expectation | null;
  readonly calls: readonly CallWithResult[];
}

/** A tool call of a generation, and its result for the model once known. */
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
  /** Its reply claimed to press keys, and is made again; absent for a round that ended with tools. */
  readonly isRefused?: true;
}

/** The reply to one turn, from its commit to the end of its last word. */
export interface Answer {
  readonly turn: Turn;
  readonly rounds: readonly ToolRound[];
  readonly generation: Generation;
  readonly isSpeculative: boolean;
  /** The caller's words are on the timeline. */
  readonly isRecorded: boolean;
  readonly isMeasured: boolean;
  readonly hasHoldLine: boolean;
  /** Heard text of each reply of this answer, by reply id. */
  readonly heard: Readonly<Record<string, string>>;
}

/** A generation started before the caller was known to have finished. */
export interface Speculation {
  readonly generation: Generation;
  /** The normalised words it answers. */
  readonly words: string;
  readonly historyLength: number;
}

/** Agent speech that is playing or about to. */
export interface Utterance {
  readonly replyId: string;
  readonly kind: 'reply' | 'notice' | 'hold' | 'farewell';
  readonly turnId: number | null;
  readonly isInterruptible: boolean;
  readonly startedMs: number | null;
  /** Text given to synthesis so far. */
  readonly text: string;
}

/** The agent's first words, prepared before they may be spoken: the notice, then the answer. */
export interface OpeningWords {
  readonly answer: Answer | null;
  readonly notice: Utterance | null;
}

/** Who has the floor. */
export type Phase =
  | ({
      readonly is: 'connecting';
      /** The extension is being dialled; `dueMs` is the latest end. */
      readonly extension?: { readonly sinceMs: number; readonly dueMs: number };
    } & OpeningWords)
  /**
   * The keypad menu before the conversation: `utterance` is its prompt while playing, `after` what follows
   * it.
   */
  | {
      readonly is: 'menu';
      readonly utterance: Utterance | null;
      readonly attempt: number;
      readonly after: 'input' | 'retry' | 'greeting';
      /** The texts that use the choice have been rendered. */
      readonly isReady: boolean;
    }
  /**
   * A mailbox answered: waits for its beep or the end of its greeting; `answer` is the message being
   * composed, `cut` what was being said to it.
   */
  | {
      readonly is: 'voicemail';
      readonly cut: Utterance | null;
      readonly answer: Answer | null;
      /** When it began to record; null before. */
      readonly openMs: number | null;
      /** The latest end of its greeting. */
      readonly capMs: number;
    }
  /** Nothing to say: the caller has the floor. */
  | { readonly is: 'listening' }
  /** A turn was taken; nothing is audible yet. */
  | { readonly is: 'answering'; readonly answer: Answer }
  | { readonly is: 'speaking'; readonly utterance: Utterance; readonly answer: Answer | null }
  /**
   * The caller spoke: the agent pauses until it is clear whether that was meant. `utterance` is null before
   * the first audio.
   */
  | {
      readonly is: 'paused';
      readonly utterance: Utterance | null;
      readonly answer: Answer | null;
      readonly sinceMs: number;
    }
  /** The agent was cut off; the report of the heard text is pending. */
  | {
      readonly is: 'clearing';
      readonly utterance: Utterance;
      readonly answer: Answer | null;
      readonly next: Turn | null;
    }
  /** The agent presses keys and says nothing; the far end is heard. */
  | {
      readonly is: 'pressing';
      readonly answer: Answer;
      readonly callId: string;
      readonly sinceMs: number;
      /** The latest end. */
      readonly dueMs: number;
    }
  /** The caller is being transferred. `utterance` is the announcement, `cut` a hold line it interrupted. */
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
   * Caller and person hear each other; the agent has left. `answer` is the one that transferred, null if
   * another worker did.
   */
  | { readonly is: 'joined'; readonly answer: Answer | null; readonly cut: Utterance | null }
  /**
   * A colleague talks with the caller. `cut` is the agent's last utterance until its heard text is known;
   * `answer` the answer it belongs to.
   */
  | {
      readonly is: 'withHuman';
      readonly answer: Answer | null;
      readonly cut: Utterance | null;
      /** The talk so far, for the model. */
      readonly lines: readonly string[];
      /** The call's time limit was reached meanwhile. */
      readonly isTimeUp: boolean;
    }
  /** The end of the call: listening has stopped. */
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
  /** The same throughout the call. */
  readonly config: TurnConfig;
  /** The texts that use variables, as last rendered. */
  readonly texts: VariableTexts;
  readonly hasOptedOut: boolean;
  readonly phase: Phase;
  readonly caller: Caller;
  /** The caller is disconnected until another leg connects; replies wait for it. */
  readonly isLegLost: boolean;
  readonly pendingTranscript: PendingTranscript | null;
  /** The part of the latest utterance that was heard, by the leg's last report; null before the first. */
  readonly heard: Heard | null;
  /** The agent's last words, as far as they were heard. */
  readonly lastSaid: { readonly text: string; readonly endMs: number } | null;
  /** The answer that the agent's last reply expects; null if unknown. */
  readonly expects: Expectation | null;
  readonly speculation: Speculation | null;
  /** The conversation for the model: what was heard, not what was generated. */
  readonly history: readonly ChatMessage[];
  /** Turns that wait: taken while the agent could not be interrupted, or started by background results. */
  readonly waiting: readonly Turn[];
  readonly recognizer: { readonly is: 'open' | 'reopening' | 'none'; readonly failures: number };
  /**
   * Time the recogniser last took to finalise a turn's words; null before the first, and after a turn taken
   * without them.
   */
  readonly finalTookMs: number | null;
  readonly lastReply: number;
  readonly lastTurn: number;
  readonly lastMessage: number;
  /** Outbound: what was heard so far, while a machine is still possible. */
  readonly screening: Screening | null;
  /** The far end; null unless the agent judges it (`automated_lines`). */
  readonly line: Line | null;
  /** Digits of the current entry. */
  readonly digits: string;
  /** How long both sides have been silent, without the time since `sinceMs`. */
  readonly quiet: { readonly beforeMs: number; readonly sinceMs: number | null; readonly prompts: number };
  readonly failedGenerations: number;
  /** Calls whose result is still expected. */
  readonly runningTools: Readonly<Record<string, RunningTool>>;
  /** Bounded average of the caller's pauses within turns. */
  readonly pauseMs: number;
  readonly hasSaidCannotHear: boolean;
  /** How often in a row the caller was asked to repeat missing words. */
  readonly unheardInARow: number;
  readonly progressMs: number;
  /** Spoken during the ending, after the closing reply. */
  readonly farewell: string;
  readonly agentState: AgentState;
}

/** The far end of an outgoing call. */
export type Line = LineOf<Turn>;

/** Everything heard since an outbound call was answered. */
export interface Screening {
  readonly greeting: Greeting;
  /** Final words. */
  readonly finals: string;
  /** The agent has answered a turn of the callee. */
  readonly hasTalked: boolean;
}

/** A tool call in flight. */
export interface RunningTool {
  readonly call: ToolCall;
  readonly mode: ToolMode;
  readonly source: string;
  readonly turnId: number;
}

/** Initial value of the caller's average pause. */
export const USUAL_PAUSE_MS = 600;

/** The state of a call before its first input. */
export function initialState(config: TurnConfig): TurnState {
  const { greeting, hangUpFarewell, transfer } = config;
  return {
    config,
    texts: { greeting, hangUpFarewell, transfer },
    hasOptedOut: false,
    phase: { is: 'connecting', answer: null, notice: null },
    caller: { is: 'silent' },
    isLegLost: false,
    pendingTranscript: null,
    heard: null,
    lastSaid: null,
    expects: lastAsked(config),
    speculation: null,
    history: config.resumed?.history ?? [],
    waiting: [],
    recognizer: { is: config.recognition.has === 'none' ? 'none' : 'open', failures: 0 },
    finalTookMs: null,
    lastReply: 0,
    lastTurn: config.resumed?.lastTurn ?? 0,
    lastMessage: config.resumed?.lastMessage ?? 0,
    screening: null,
    line: config.lines ? lineAtStart(config.resumed?.line) : null,
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

/** All words of the speech so far. */
export function speechText(speech: Speech): string {
  const { finals, interim } = speech;
  if (finals.length === 0) return interim;
  return interim === '' ? finals.join(' ') : `${finals.join(' ')} ${interim}`;
}
