/** `SideKind`: one way to build the agent of the comparison; `Side`: that agent, running. */

import type { RoomGrant } from '#caller/room-caller.ts';
import type { Process } from '#test/journeys/process-tree.ts';
import type { Engines } from './engines.ts';

/** Address and keys of the LiveKit server, as every side reads them from its environment. */
export type LivekitSettings = Readonly<
  Record<'LIVEKIT_URL' | 'LIVEKIT_API_KEY' | 'LIVEKIT_API_SECRET', string>
>;

/** A call ready to be placed. */
export interface PreparedCall {
  readonly grant: RoomGrant;
  /**
   * The agent's messages as stored by its side, oldest first. Read after the call; null if none were stored.
   */
  said(): Promise<readonly string[] | null>;
}

/** A running agent. */
export interface Agent {
  readonly version: string;
  /** Prepares a room that the agent has joined or is joining. */
  prepare(): Promise<PreparedCall>;
  /** All processes of this side. The LiveKit server and the engines belong to no side. */
  processes(): Process[];
  close(): Promise<void>;
}

/** A running agent and its engines, which end with it. */
export interface Side extends Agent {
  readonly engines: Engines;
}

/**
 * How a side decides that the caller has finished: as its documentation sets it up, or by the end of speech
 * and a silence alone.
 */
export type EndOfTurn = 'documented' | 'speech';

/** A side of the comparison. */
export interface SideKind {
  /** Names the side in options and results. */
  readonly id: string;
  readonly name: string;
  readonly endOfTurn: EndOfTurn;
  /** Waits and thresholds in force, as the page lists them. */
  readonly setUp: string;
  /** Why it cannot run on this machine, and what to do about it; null if it can. */
  missing(): string | null;
  /** Starts it; throws if it does not become ready. */
  start(livekit: LivekitSettings): Promise<Side>;
}
