/**
 * `Caller`: calls a voice agent and plays a scene, knowing nothing of the agent but its address. One
 * implementation per kind of call (a phone: `phone-caller.ts`). Callers act on their own event loop, but take
 * no time from it: times are measured in a packet capture (`measure.ts`).
 */
import type { Meaning, Timeline } from '#protocol/audible-timeline.ts';
import type { Line, Scene } from './scene.ts';
import type { CallerMind } from './take-turns.ts';

/** One kind of call. */
export interface Caller {
  /** Places a call, plays the scene and hangs up. Resolves when the call is over, whatever its outcome. */
  call(request: CallRequest): Promise<CallRecord>;
}

/** The address to call, and the scene. */
export interface CallRequest {
  /** Address of the agent for the transport: `sip:+15550100000@127.0.0.1:5060`. */
  readonly target: string;
  readonly scene: Scene;
  /** Hangs up (before the answer: cancels) when aborted. */
  readonly signal?: AbortSignal;
  /** Called for each line when its first packet is due. */
  readonly onLine?: (line: Line) => void;
  /** Decides what the caller does in conversations; a scene without them needs none. */
  readonly mind?: CallerMind | undefined;
}

/** Outcome of a call. */
export type CallOutcome =
  /** Answered; `endedBy` is the side that hung up, or `lost` if the peer disappeared. */
  | { readonly type: 'answered'; readonly endedBy: 'caller' | 'agent' | 'lost' }
  | { readonly type: 'refused'; readonly status: number; readonly reason: string }
  | { readonly type: 'cancelled' };

/** A line as sent: RTP timestamps of its first and last packet. */
export interface SaidLine {
  readonly text: string;
  readonly means: Meaning;
  readonly firstTimestamp: number;
  readonly lastTimestamp: number;
}

/** An ended call. */
export interface CallRecord {
  readonly outcome: CallOutcome;
  readonly callId: string;
  /** Local UDP ports, which identify the call in the capture. */
  readonly ports: { readonly signalling: number; readonly media: number };
  readonly lines: readonly SaidLine[];
  /** The audio that the caller received, 8 kHz, from the first packet on. */
  readonly heard: Int16Array;
  /** Both voices over time, by the clock of this process, which is less exact than a capture. */
  readonly timeline: Timeline;
}
