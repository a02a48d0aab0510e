/** `Side`: one of the agents that are compared, as the comparison sees it. */

import type { RoomGrant } from '#caller/room-caller.ts';
import type { Process } from '#test/journeys/process-tree.ts';
import type { Engines } from './engines.ts';

/** What both are set to. */
export const SETTINGS = {
  /** Silence after which a finished sentence is answered, ms. */
  waitMs: 300,
  /**
   * Silence after which an unfinished one is answered, ms: the framework's own with the end-of-turn model it
   * is given.
   */
  maxWaitMs: 2_500,
  /** Voice that interrupts, ms. */
  interruptMs: 256,
} as const;

/** A call to be made. */
export interface PreparedCall {
  readonly grant: RoomGrant;
  /**
   * The agent's messages as its side stored them, read after the call, oldest first. Null when it stored
   * none.
   */
  said(): Promise<readonly string[] | null>;
}

/** One agent, running. */
export interface Side {
  readonly name: string;
  readonly version: string;
  readonly engines: Engines;
  /** A room with the agent in it, or on its way. */
  prepare(): Promise<PreparedCall>;
  /** Every process of it; the LiveKit server and the engines are nobody's. */
  processes(): Process[];
  close(): Promise<void>;
}
