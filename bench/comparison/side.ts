/** `Side`: common interface of the agents being compared. */

import type { RoomGrant } from '#caller/room-caller.ts';
import type { Process } from '#test/journeys/process-tree.ts';
import type { Engines } from './engines.ts';

/** Settings of both sides. */
export const SETTINGS = {
  /** Silence after a finished sentence before the agent answers, ms. */
  waitMs: 300,
  /**
   * Silence after an unfinished sentence before the agent answers, ms: the framework's default with this
   * end-of-turn model.
   */
  maxWaitMs: 2_500,
  /** Duration of voice that interrupts, ms. */
  interruptMs: 256,
} as const;

/** A call ready to be placed. */
export interface PreparedCall {
  readonly grant: RoomGrant;
  /**
   * The agent's messages as stored by its side, oldest first. Read after the call; null if none were stored.
   */
  said(): Promise<readonly string[] | null>;
}

/** A running agent. */
export interface Side {
  readonly name: string;
  readonly version: string;
  readonly engines: Engines;
  /** Prepares a room that the agent has joined or is joining. */
  prepare(): Promise<PreparedCall>;
  /** All processes of this side. The LiveKit server and the engines belong to neither side. */
  processes(): Process[];
  close(): Promise<void>;
}
