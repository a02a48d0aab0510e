/**
 * Input of the turn machine: facts in the past tense, each with its monotonic time. The flight log stores
 * exactly these; a change of meaning needs a new `TURN_MACHINE_VERSION`.
 */

import type { Tone } from '#media/dsp/tone-detector.ts';
import type { LegCloseReason } from '#media/leg/leg.ts';
import type { EndReason } from '#protocol/session-record.ts';
import type { ToolCall } from '../../llm/llm.ts';
import type { Expectation } from '../text/expectation.ts';
import type { VariableTexts } from './turn-config.ts';

/** The machine's timers; at most one of each name. */
export type TimerName =
  | 'judge'
  | 'commit'
  | 'speculate'
  | 'talk'
  | 'unheard'
  | 'falseInterruption'
  | 'hold'
  | 'progress'
  | 'idle'
  | 'maxDuration'
  | 'keypad'
  | 'endCap'
  | 'reopen'
  | 'menu'
  | 'screening'
  | 'line';

/** A fact without its time. */
export type TurnFact =
  /** The first leg exists but is not connected: the greeting can be prepared. */
  | { readonly type: 'call.started' }
  | { readonly type: 'call.connected' }
  /** The leg broke and another may follow; `playout.cleared` comes next for what was playing. */
  | { readonly type: 'leg.lost' }
  /** Another leg replaces the lost one; usable after `call.connected`. */
  | { readonly type: 'leg.replaced' }
  | { readonly type: 'leg.closed'; readonly reason: LegCloseReason }
  | { readonly type: 'end.requested'; readonly reason: EndReason; readonly sayGoodbye: boolean }
  | { readonly type: 'voice.started'; readonly speechStartMs: number }
  | { readonly type: 'voice.reached'; readonly voicedMs: number }
  | { readonly type: 'voice.stopped'; readonly speechEndMs: number; readonly voicedMs: number }
  | { readonly type: 'transcript.interim'; readonly text: string }
  | { readonly type: 'transcript.final'; readonly text: string }
  | { readonly type: 'transcript.finalised' }
  | { readonly type: 'recognizer.failed'; readonly isRetryable: boolean }
  | { readonly type: 'reply.token'; readonly replyId: string }
  /**
   * A speakable piece was cut from the stream; `text` is its readable form. `isHeld`: it is not said before
   * `release`.
   */
  | {
      readonly type: 'reply.piece';
      readonly replyId: string;
      readonly text: string;
      readonly isHeld?: true;
    }
  | {
      readonly type: 'reply.tool_called';
      readonly replyId: string;
      readonly call: ToolCall;
      readonly mode: ToolMode;
      readonly source: string;
    }
  /** The model has said which answer its reply asks for; null: any. */
  | { readonly type: 'reply.expects'; readonly replyId: string; readonly expects: Expectation | null }
  /** The model has finished. */
  | { readonly type: 'reply.generated'; readonly replyId: string }
  /** The first audio of the reply exists. */
  | { readonly type: 'reply.audible'; readonly replyId: string }
  | {
      readonly type: 'reply.failed';
      readonly replyId: string;
      readonly stage: 'model' | 'synthesis';
      readonly message: string;
      readonly status: number | null;
      readonly isRetryable: boolean;
    }
  | { readonly type: 'playout.started'; readonly replyId: string; readonly wireMs: number }
  /** So many characters of its text were heard; absent if unknown. */
  | { readonly type: 'playout.progressed'; readonly replyId: string; readonly heardChars?: number }
  /** The reply was played to its end. */
  | { readonly type: 'playout.finished'; readonly replyId: string; readonly heard: string }
  /** The reply was cut; `heard` are the words that had been played. */
  | {
      readonly type: 'playout.cleared';
      readonly replyId: string;
      readonly heard: string;
      readonly isExact: boolean;
    }
  | {
      readonly type: 'tool.finished';
      readonly callId: string;
      readonly status: 'completed' | 'failed';
      readonly output: string | null;
      readonly outputTruncated: boolean;
      readonly error: string | null;
      readonly latencyMs: number;
      readonly modelText: string;
    }
  /** The person called and the caller hear each other. */
  | { readonly type: 'transfer.joined' }
  /**
   * Done: the caller has left us, or the person hung up. Otherwise the agent has the caller back, and
   * `message` gives the model the reason.
   */
  | { readonly type: 'transfer.finished'; readonly isDone: boolean; readonly message: string }
  /** A colleague asks to talk with the caller in place of the agent. */
  | { readonly type: 'colleague.took_over' }
  | { readonly type: 'colleague.said'; readonly text: string }
  | { readonly type: 'colleague.handed_back' }
  | { readonly type: 'digit.pressed'; readonly digit: string }
  /** The keys of this `pressKeys` have been sent. */
  | { readonly type: 'keys.sent'; readonly pressId: string }
  /** A mailbox beep or a fax tone at the far end of an outbound call. */
  | { readonly type: 'tone.heard'; readonly tone: Tone }
  /**
   * Hold music, ringing, or beeps in silence at the far end, without a voice; only with `automated_lines`.
   */
  | { readonly type: 'music.started' }
  | { readonly type: 'music.stopped' }
  /** A variable was set; these texts use it and were rendered again. */
  | ({ readonly type: 'variables.changed' } & VariableTexts)
  | { readonly type: 'user.message'; readonly text: string; readonly wantsAudio: boolean }
  | { readonly type: 'user.active' }
  | { readonly type: 'user.interrupted' }
  | { readonly type: 'user.hung_up' }
  | { readonly type: 'timer.fired'; readonly name: TimerName };

/** How a tool call holds the reply (`execution_mode`). */
export type ToolMode =
  | 'blocking'
  | 'fire_and_forget'
  | 'background'
  | 'hang_up'
  | 'transfer'
  | 'keys'
  | 'unknown';

/** One input of the machine. `atMs` never decreases. */
export type TurnInput = TurnFact & { readonly atMs: number };
