/**
 * `Caller`: someone who calls a voice agent and plays a scene, knowing nothing of the agent but its address.
 * One implementation per way of calling (a phone: `phone-caller.ts`). Callers act on their own event loop,
 * but no time is read from it: what a call took is measured in the packet capture that ran beside it
 * (`measure.ts`).
 */
import type { Line, Meaning, Scene } from './scene.ts';

/** One way of calling. */
export interface Caller {
  /** Places one call, plays the scene and hangs up. Resolves when the call is over, whatever became of it. */
  call(request: CallRequest): Promise<CallRecord>;
}

/** What to call, and what to do there. */
export interface CallRequest {
  /** Address of the agent, in the words of the transport: `sip:+15550100000@127.0.0.1:5060`. */
  readonly target: string;
  readonly scene: Scene;
  /** Hangs up (before the answer: cancels) when aborted. */
  readonly signal?: AbortSignal;
  /** Told of each line as its first packet is due. */
  readonly onLine?: (line: Line) => void;
}

/** What became of a call. */
export type CallOutcome =
  /** Answered; `endedBy` says who hung up, and `lost` that the far end fell silent without a word. */
  | { readonly type: 'answered'; readonly endedBy: 'caller' | 'agent' | 'lost' }
  | { readonly type: 'refused'; readonly status: number; readonly reason: string }
  | { readonly type: 'cancelled' };

/** One line as it went out: RTP timestamps of its first and last packet. */
export interface SaidLine {
  readonly text: string;
  readonly means: Meaning;
  readonly firstTimestamp: number;
  readonly lastTimestamp: number;
}

/** A call that is over. */
export interface CallRecord {
  readonly outcome: CallOutcome;
  readonly callId: string;
  /** Local UDP ports, by which the capture is told apart. */
  readonly ports: { readonly signalling: number; readonly media: number };
  readonly lines: readonly SaidLine[];
  /** What the caller heard, 8 kHz, from the first packet on. */
  readonly heard: Int16Array;
}
