/**
 * Output of the turn machine: imperatives that the turn loop carries out in order. All times are monotonic
 * ms.
 */
import type { AgentEvent } from '#protocol/session-events.ts';
import type { EndReason, SessionItem, SessionLine, TurnLatency } from '#protocol/session-record.ts';
import type { ChatMessage, ToolCall } from '../../llm/llm.ts';
import type { TimerName } from './turn-inputs.ts';

type WithoutTime<T> = T extends unknown ? Omit<T, 'created_at'> : never;

/** A timeline entry; the loop converts its time to wall time. */
export type TimelineItem = WithoutTime<SessionItem> & { readonly createdAtMs: number };

/** A turn's waterfall; the loop converts its anchor to wall time. */
export type TurnWaterfall = Omit<TurnLatency, 'speech_ended_at'> & { readonly speechEndMs: number };

/** The reason of a decision: the rule, the moment it counts from, and the moment it chose. */
export interface Decision {
  readonly about:
    | 'endpoint'
    | 'interruption'
    | 'transcript'
    | 'speculation'
    | 'progress'
    | 'failure'
    | 'silence'
    | 'menu'
    | 'answering'
    | 'line';
  readonly rule: string;
  readonly anchorMs: number;
  readonly deadlineMs: number;
  /** Rejected alternatives, with reasons. */
  readonly rejected?: readonly {
    readonly rule: string;
    readonly deadlineMs: number;
    readonly because: string;
  }[];
}

/** A stretch in which the far end was automated. */
export interface LineStretch {
  readonly is: SessionLine['line'];
  readonly fromMs: number;
  readonly untilMs: number;
  readonly endedBy: SessionLine['ended_by'];
  readonly gaveUp?: NonNullable<SessionLine['gave_up']>;
}

/** One action. */
export type Effect =
  /** Starts or moves a timer; it returns as `timer.fired` at `atMs`, or at once if that is past. */
  | { readonly do: 'startTimer'; readonly name: TimerName; readonly atMs: number }
  | { readonly do: 'stopTimer'; readonly name: TimerName }
  | { readonly do: 'watchVoice'; readonly reachMs: number }
  | { readonly do: 'openRecognizer' }
  | { readonly do: 'closeRecognizer' }
  | { readonly do: 'finalise' }
  /**
   * Synthesises a fixed text, unless it is only written to the client. Nothing is played or shown before
   * `play`.
   */
  | { readonly do: 'say'; readonly replyId: string; readonly text: string; readonly isSpoken: boolean }
  /** Generates and synthesises a reply. Nothing is played before `play`. */
  | {
      readonly do: 'generate';
      readonly replyId: string;
      readonly turnId: number;
      readonly messages: readonly ChatMessage[];
      readonly isSpeculative: boolean;
      /** False: the reply is only written to the client (`audio: false`). */
      readonly isSpoken: boolean;
      /** The reply is not even written to the client: it is for nobody. Absent: it is for somebody. */
      readonly isUnseen?: true;
    }
  /** The speculative reply becomes the turn's reply. */
  | { readonly do: 'commit'; readonly replyId: string }
  | { readonly do: 'play'; readonly replyId: string }
  /** The held pieces of the reply are said. */
  | { readonly do: 'release'; readonly replyId: string }
  /** Undoes `play` while the reply has no audio. */
  | { readonly do: 'holdBack'; readonly replyId: string }
  /** Stops generation and synthesis of a reply that was not played. */
  | { readonly do: 'discard'; readonly replyId: string }
  | { readonly do: 'pause' }
  | { readonly do: 'resume' }
  /** Stops generation, synthesis and playout of the current reply; answered by `playout.cleared`. */
  | { readonly do: 'clear'; readonly replyId: string }
  | { readonly do: 'runTool'; readonly call: ToolCall }
  /** The result is no longer needed; `tool.finished` still follows. */
  | { readonly do: 'cancelTool'; readonly callId: string }
  /** Presses keys, which may be hidden here; answered by `keys.sent`. */
  | { readonly do: 'pressKeys'; readonly pressId: string; readonly keys: string }
  /** The keys that were not sent yet are not sent any more. */
  | { readonly do: 'dropKeys' }
  /**
   * Transfers the caller to the destination with this index; `notes` are for the person called. Answered by
   * `transfer.finished`.
   */
  | { readonly do: 'transfer'; readonly destination: number; readonly notes: string }
  /** The call ends during the transfer. */
  | { readonly do: 'stopTransfer' }
  /** A colleague takes the call over: they and the caller hear each other. */
  | { readonly do: 'yield' }
  /** The agent has the call again. */
  | { readonly do: 'takeBack' }
  /** Sets a dynamic variable; answered by `variables.changed`. */
  | { readonly do: 'setVariable'; readonly name: string; readonly value: string }
  /** The person called opted out of further calls. */
  | { readonly do: 'optOut'; readonly by: 'voice' | 'key' }
  | { readonly do: 'record'; readonly item: TimelineItem }
  | { readonly do: 'event'; readonly event: AgentEvent }
  | { readonly do: 'explain'; readonly decision: Decision }
  | { readonly do: 'reportTurn'; readonly waterfall: TurnWaterfall }
  /** An automated line has ended. */
  | { readonly do: 'line'; readonly stretch: LineStretch }
  /** The call is over. */
  | { readonly do: 'hangUp'; readonly reason: EndReason };
