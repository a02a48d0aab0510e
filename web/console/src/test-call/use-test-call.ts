/**
 * A call with an agent's draft as React state: transcript, tool calls and the agent's activity. The call is
 * free, unlisted and sends no webhooks.
 */
import { useCallback, useEffect, useRef, useState } from 'react';
import { AgentSession } from '../../../client/agent-session.ts';
import { type AgentMode, SessionError, type SessionStatus } from '../../../client/events.ts';
import { ApiError, call } from '../api/client.ts';
import type { PreviewSession } from '../api/types.ts';

/** An entry of the running call. */
export type Entry =
  | {
      readonly kind: 'speech';
      readonly id: string;
      readonly role: 'user' | 'agent';
      readonly text: string;
      readonly isFinal: boolean;
    }
  | {
      readonly kind: 'tool';
      readonly id: string;
      readonly name: string;
      readonly state: 'running' | 'completed' | 'failed';
      readonly detail: string;
    };

/** State of a test call. */
export interface TestCallState {
  readonly status: SessionStatus | 'idle';
  readonly mode: AgentMode;
  readonly entries: readonly Entry[];
  readonly sessionId: string | null;
  readonly problem: string | null;
  readonly endReason: string | null;
  start(microphone: boolean): Promise<void>;
  end(): void;
  say(text: string): void;
  setMuted(muted: boolean): void;
}

export function useTestCall(agentId: string): TestCallState {
  const session = useRef<AgentSession | null>(null);
  const [status, setStatus] = useState<SessionStatus | 'idle'>('idle');
  const [mode, setMode] = useState<AgentMode>('listening');
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  const [endReason, setEndReason] = useState<string | null>(null);
  useEffect(() => () => session.current?.end(), []);

  const start = useCallback(
    async (microphone: boolean) => {
      setStatus('connecting');
      setProblem(null);
      setEndReason(null);
      setEntries([]);
      const put = (entry: Entry) => setEntries((before) => withEntry(before, entry));
      try {
        const grant = await call<PreviewSession>('POST', `/v1/agent/agents/${agentId}/preview-sessions`, {});
        const started = await AgentSession.start({ sessionToken: grant, microphone });
        session.current = started;
        started.on('statusChange', (change) => setStatus(change.status));
        started.on('modeChange', (change) => setMode(change.mode));
        listenToEntries(started, put);
        started.on('disconnect', ({ reason }) => setEndReason(reason));
        started.on('error', (error) => setProblem(error.message));
        setMode(started.mode);
        setStatus(started.status);
      } catch (error) {
        setStatus('idle');
        setProblem(
          error instanceof SessionError || error instanceof ApiError
            ? error.message
            : 'The call could not be started',
        );
      }
    },
    [agentId],
  );

  return {
    status,
    mode,
    entries,
    sessionId: session.current?.sessionId ?? null,
    problem,
    endReason,
    start,
    end: useCallback(() => session.current?.end(), []),
    say: useCallback((text: string) => session.current?.sendUserMessage(text, { audio: true }), []),
    setMuted: useCallback((muted: boolean) => session.current?.setMicMuted(muted), []),
  };
}

/** Passes speech and tool calls of the session to `put`. */
function listenToEntries(session: AgentSession, put: (entry: Entry) => void): void {
  session.on('userTranscript', ({ segmentId, text, final }) =>
    put({ kind: 'speech', id: segmentId, role: 'user', text, isFinal: final }),
  );
  session.on('agentResponseDelta', ({ segmentId, text }) =>
    put({ kind: 'speech', id: segmentId, role: 'agent', text, isFinal: false }),
  );
  session.on('agentResponse', ({ segmentId, text }) =>
    put({ kind: 'speech', id: segmentId, role: 'agent', text, isFinal: true }),
  );
  session.on('toolCallStarted', ({ callId, toolName, input }) =>
    put({ kind: 'tool', id: callId, name: toolName, state: 'running', detail: input }),
  );
  session.on('toolCallCompleted', ({ callId, toolName, output }) =>
    put({ kind: 'tool', id: callId, name: toolName, state: 'completed', detail: output }),
  );
  session.on('toolCallFailed', ({ callId, toolName, error }) =>
    put({ kind: 'tool', id: callId, name: toolName, state: 'failed', detail: error }),
  );
}

/** Replaces the entry with that id or appends it. Speech of which nothing was heard is removed. */
function withEntry(entries: readonly Entry[], entry: Entry): readonly Entry[] {
  if (entry.kind === 'speech' && entry.text === '')
    return entry.isFinal ? entries.filter(({ id }) => id !== entry.id) : entries;
  return entries.some(({ id }) => id === entry.id)
    ? entries.map((other) => (other.id === entry.id ? entry : other))
    : [...entries, entry];
}
