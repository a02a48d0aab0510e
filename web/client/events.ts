/** Events that an `AgentSession` emits, and its states. */

import type { ParticipantMode } from '../../protocol/session-events.ts';

/** State of the connection. */
export type SessionStatus = 'connecting' | 'connected' | 'reconnecting' | 'ended';

/** What the agent is doing. */
export type AgentMode = 'listening' | 'thinking' | 'speaking';

/** Why a session ended, as far as the client can tell. An open set: unknown values are informational. */
export type EndReason =
  | 'user_hangup'
  | 'agent_hangup'
  | 'conversation_timeout'
  | 'escalated'
  | 'connection_lost'
  | (string & {});

/** Stable codes for errors that a page can handle. */
export type SessionErrorCode =
  | 'session_request_failed'
  | 'agent_not_public'
  | 'origin_forbidden'
  | 'unsupported_transport'
  | 'mic_permission_denied'
  | 'device_change_failed'
  | 'connection_failed'
  | 'session_expired'
  | 'tool_failed'
  | 'tool_timeout'
  | 'provider_error'
  | 'internal_error';

/** An error of the session. `statusCode` is the HTTP status of a refused session request. */
export class SessionError extends Error {
  readonly code: SessionErrorCode;
  readonly statusCode: number | null;

  constructor(
    code: SessionErrorCode,
    message: string,
    statusCode: number | null = null,
    options: ErrorOptions = {},
  ) {
    super(message, options);
    this.name = 'SessionError';
    this.code = code;
    this.statusCode = statusCode;
  }
}

/** Names and payloads of the events. */
export interface SessionEvents {
  connect: { sessionId: string };
  disconnect: { reason: EndReason };
  statusChange: { status: SessionStatus };
  modeChange: { mode: AgentMode };
  userTranscript: { segmentId: string; text: string; final: boolean };
  agentResponseDelta: { segmentId: string; delta: string; text: string };
  agentResponse: { segmentId: string; text: string };
  message: { role: 'user' | 'agent'; text: string };
  toolCallStarted: { callId: string; toolName: string; source: string; input: string; inputTruncated?: true };
  toolCallCompleted: {
    callId: string;
    toolName: string;
    source: string;
    output: string;
    outputTruncated?: true;
  };
  toolCallFailed: { callId: string; toolName: string; source: string; error: string };
  /** Sent to a colleague in a call: whether they only listen or talk in place of the agent. */
  participantMode: { mode: ParticipantMode };
  error: SessionError;
}

/** Receives the payload of an event. */
export type Listener<Name extends keyof SessionEvents> = (payload: SessionEvents[Name]) => void;

/** A typed event emitter. An exception in one listener does not prevent calls to the others. */
export class Emitter {
  readonly #listeners = new Map<keyof SessionEvents, Set<(payload: never) => void>>();

  /** Adds a listener; returns a function that removes it. */
  on<Name extends keyof SessionEvents>(name: Name, listener: Listener<Name>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(name, listeners);
    return () => this.off(name, listener);
  }

  /** Adds a listener for the next such event only; returns a function that removes it. */
  once<Name extends keyof SessionEvents>(name: Name, listener: Listener<Name>): () => void {
    const off = this.on(name, (payload) => {
      off();
      listener(payload);
    });
    return off;
  }

  /** Removes a listener. */
  off<Name extends keyof SessionEvents>(name: Name, listener: Listener<Name>): void {
    this.#listeners.get(name)?.delete(listener);
  }

  protected emit<Name extends keyof SessionEvents>(name: Name, payload: SessionEvents[Name]): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) {
      try {
        (listener as Listener<Name>)(payload);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
