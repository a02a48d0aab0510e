/**
 * `Transport`: carries a conversation's voice and messages. One implementation uses a direct connection, the
 * other LiveKit rooms.
 */
import type { AgentEvent, ClientEvent } from '../../protocol/session-events.ts';

/** Callbacks from a transport to its session. */
export interface TransportListener {
  onEvent(event: AgentEvent): void;
  /** The agent's voice. */
  onVoice(stream: MediaStream): void;
  /** True when the connection breaks and is being restored, false when it is back. */
  onReconnecting(isReconnecting: boolean): void;
  /** The connection is permanently lost. */
  onLost(): void;
}

/** A connection to the agent. */
export interface Transport {
  /** Connects, with the microphone if given; resolves once messages can be sent. Throws `SessionError`. */
  connect(microphone: MediaStream | null): Promise<void>;
  /** Replaces the microphone that is sent. Rejects if none is sent. */
  setMicrophone(microphone: MediaStream): Promise<void>;
  /**
   * User messages and tool results wait while the connection is being restored. Without a connection nothing
   * is sent.
   */
  send(event: ClientEvent): void;
  /** Closes the connection after messages just sent have left. */
  close(): void;
  /** The LiveKit room, for features this client does not cover; null without a room. */
  readonly room: object | null;
}

/**
 * Events that wait while the connection is being restored and are then sent once. All others matter only at
 * the moment they are sent.
 */
export const WAITING: ReadonlySet<ClientEvent['type']> = new Set(['user.message', 'client_tool.result']);
/** How long to wait for the agent, ms. */
export const JOIN_MS = 15_000;
/** Delay before the connection closes, to let a last message (the hang-up) leave, ms. */
export const LINGER_MS = 250;
