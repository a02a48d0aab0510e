/**
 * `Transport`: how a conversation's voice and messages travel; one implementation for a direct connection,
 * one for LiveKit rooms.
 */
import type { AgentEvent, ClientEvent } from '../../protocol/session-events.ts';

/** What a transport tells the session. */
export interface TransportListener {
  onEvent(event: AgentEvent): void;
  /** The agent's voice. */
  onVoice(stream: MediaStream): void;
  /** The connection broke and is being mended, or is whole again. */
  onReconnecting(isReconnecting: boolean): void;
  /** It is gone for good. */
  onLost(): void;
}

/** A connection to the agent. */
export interface Transport {
  /**
   * Connects, with the microphone where there is one; resolves once messages can be sent. Throws
   * `SessionError`.
   */
  connect(microphone: MediaStream | null): Promise<void>;
  /** Sends another microphone's sound from now on. Rejects where none is sent. */
  setMicrophone(microphone: MediaStream): Promise<void>;
  /** Messages and answers of tools wait while a connection is being mended; without one nothing is sent. */
  send(event: ClientEvent): void;
  /** Closes; what was just sent still leaves. */
  close(): void;
  /** The LiveKit room, for what this client does not cover; null without one. */
  readonly room: object | null;
}

/**
 * Said once and meant to be heard: it waits for a connection that is being mended, and is sent once. The
 * others are about the moment they are sent in.
 */
export const WAITING: ReadonlySet<ClientEvent['type']> = new Set(['user.message', 'client_tool.result']);
/** How long the agent is waited for, ms. */
export const JOIN_MS = 15_000;
/** Lets a last message (the hang-up) leave before the connection goes, ms. */
export const LINGER_MS = 250;
