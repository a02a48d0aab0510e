/** The events an `AgentSession` emits and the states it goes through. */

import type { ParticipantMode } from '../../protocol/session-events.ts';

/** Where the connection stands. */
export type SessionStatus = 'connecting' | 'connected' | 'reconnecting' | 'ended';

/** What the agent is doing. */
export type AgentMode = 'listening' | 'thinking' | 'speaking';

/** Why a session ended, as far as the client knows. An open set: unknown values are informational. */
export type EndReason =
  | 'user_hangup'
  | 'agent_hangup'
  | 'conversation_timeout'
  | 'escalated'
  | 'connection_lost'
  | (string & {});

/** Stable codes of the errors a page can react to. */
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

/** What went wrong; `statusCode` is the HTTP status of a refused session request. */
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
  /** Told to a colleague in a call: whether they only hear it, or talk in the agent's place. */
  participantMode: { mode: ParticipantMode };
  error: SessionError;
}

/** Takes one event's payload. */
export type Listener<Name extends keyof SessionEvents> = (payload: SessionEvents[Name]) => void;

/** A typed event emitter; a listener that throws does not keep the others from being called. */
export class Emitter {
  readonly #listeners = new Map<keyof SessionEvents, Set<(payload: never) => void>>();

  /** Calls the listener on every such event; returns what takes it off again. */
  on<Name extends keyof SessionEvents>(name: Name, listener: Listener<Name>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(name, listeners);
    return () => this.off(name, listener);
  }

  /** Calls the listener on the next such event only. */
  once<Name extends keyof SessionEvents>(name: Name, listener: Listener<Name>): () => void {
    const off = this.on(name, (payload) => {
      off();
      listener(payload);
    });
    return off;
  }

  /** Takes a listener off. */
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
