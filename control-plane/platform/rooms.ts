/**
 * `Rooms`: the control plane's interface to the LiveKit server: session rooms, access tokens and signed
 * webhooks.
 */
import type { SessionDocument } from './store/models/session-model.ts';

/** The agent's token outlives the longest conversation, so the agent can rejoin the room. */
const AGENT_TOKEN_MARGIN_S = 600;

/** Roles in a room; each has its own permissions. */
export type RoomRole = 'caller' | 'agent' | 'monitor';

/** Options of a room token. */
export interface RoomTokenOptions {
  readonly room: string;
  readonly identity: string;
  readonly role: RoomRole;
  /** Seconds for which the token can be used to join. */
  readonly ttlSeconds: number;
}

/** A signed webhook from the LiveKit server. */
export interface RoomEvent {
  readonly event: string;
  readonly room: string | null;
  readonly identity: string | null;
}

/** Rooms on one LiveKit server. */
export interface Rooms {
  /** WebSocket address for clients and workers (ws or wss). */
  readonly url: string;
  /** The server's address for browsers. */
  readonly publicUrl: string;
  /**
   * Creates a room that stays open for `emptySeconds` until its first participant joins. Throws
   * `Fault('gateway_unreachable')`.
   */
  create(room: string, emptySeconds: number): Promise<void>;
  /**
   * Removes all participants and deletes the room; a missing room is not an error. Throws
   * `Fault('gateway_unreachable')`.
   */
  remove(room: string): Promise<void>;
  /**
   * Names of all rooms on the server, including those of other applications. Throws
   * `Fault('gateway_unreachable')`.
   */
  list(): Promise<readonly string[]>;
  /**
   * Identities of the participants in a room; empty if the room does not exist. Throws
   * `Fault('gateway_unreachable')`.
   */
  participants(room: string): Promise<readonly string[]>;
  token(options: RoomTokenOptions): Promise<string>;
  /** Parses a webhook; null if it was not signed with our secret. */
  readEvent(body: string, authorization: string | undefined): Promise<RoomEvent | null>;
  /** Asks the server whether the settings are right; null if they are. Never rejects. */
  problem(): Promise<RoomsProblem | null>;
}

/** Why the rooms cannot be used. */
export interface RoomsProblem {
  readonly setting: 'LIVEKIT_URL' | 'LIVEKIT_API_KEY' | 'LIVEKIT_API_SECRET';
  /** One line without secrets. */
  readonly text: string;
}

/** Identity of the caller in a session's room. */
export function callerIdentity(sessionId: string): string {
  return `user-${sessionId}`;
}

/** Identity of the agent in a session's room. */
export function agentIdentity(sessionId: string): string {
  return `agent-${sessionId}`;
}

/** Name of the room shared by a colleague and the worker. */
export function participantRoom(sessionId: string, participantId: string): string {
  return `${sessionId}.${participantId}`;
}

/** The session that a room belongs to, whether its main room or a colleague's. */
export function sessionOfRoom(room: string): string {
  return room.split('.')[0] ?? room;
}

/** All rooms of a session. */
export function roomsOf({
  room,
  participants = [],
}: Pick<SessionDocument, 'room' | 'participants'>): string[] {
  return [room, ...participants.map((participant) => participant.room)].filter((name) => name !== null);
}

/** Lifetime of the agent's token. */
export function agentTokenSeconds(joinSeconds: number, maxDurationSeconds: number): number {
  return joinSeconds + maxDurationSeconds + AGENT_TOKEN_MARGIN_S;
}
