/** One conversation with an agent as React state: status, what was said, loudness, and what a visitor can do. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { AgentSession } from '../../../client/agent-session.ts';
import { type AgentMode, SessionError } from '../../../client/events.ts';

/** One bubble of the transcript. */
export interface Line {
  id: string;
  role: 'user' | 'agent';
  text: string;
  isFinal: boolean;
}

export type ConversationStatus = 'idle' | 'connecting' | 'connected' | 'reconnecting' | 'ended';

export interface Conversation {
  status: ConversationStatus;
  mode: AgentMode;
  lines: readonly Line[];
  sessionId: string | null;
  problem: string | null;
  endReason: string | null;
  isMuted: boolean;
  start(agentId: string, options: { microphone: boolean }): Promise<void>;
  end(): void;
  say(text: string): void;
  setMuted(muted: boolean): void;
  levels(): { input: number; output: number };
}

/** A conversation that lives as long as the component that uses it. */
export function useConversation(): Conversation {
  const session = useRef<AgentSession | null>(null);
  const [status, setStatus] = useState<ConversationStatus>('idle');
  const [mode, setMode] = useState<AgentMode>('listening');
  const [lines, setLines] = useState<readonly Line[]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  const [endReason, setEndReason] = useState<string | null>(null);
  const [isMuted, setIsMuted] = useState(false);
  useEffect(() => () => session.current?.end(), []);

  const start = useCallback(async (agentId: string, options: { microphone: boolean }) => {
    setStatus('connecting');
    setProblem(null);
    setEndReason(null);
    setLines([]);
    setIsMuted(false);
    try {
      const started = await AgentSession.start({ agentId, microphone: options.microphone });
      session.current = started;
      started.on('statusChange', (change) => setStatus(change.status));
      started.on('modeChange', (change) => setMode(change.mode));
      started.on('userTranscript', ({ segmentId, text, final }) =>
        setLines((before) => withLine(before, { id: segmentId, role: 'user', text, isFinal: final })),
      );
      started.on('agentResponseDelta', ({ segmentId, text }) =>
        setLines((before) => withLine(before, { id: segmentId, role: 'agent', text, isFinal: false })),
      );
      started.on('agentResponse', ({ segmentId, text }) =>
        setLines((before) => withLine(before, { id: segmentId, role: 'agent', text, isFinal: true })),
      );
      started.on('disconnect', ({ reason }) => setEndReason(reason));
      started.on('error', (error) => setProblem(error.message));
      setMode(started.mode);
      setStatus(started.status);
    } catch (error) {
      setStatus('idle');
      setProblem(error instanceof SessionError ? error.message : 'The conversation could not be started');
    }
  }, []);

  return {
    status,
    mode,
    lines,
    sessionId: session.current?.sessionId ?? null,
    problem,
    endReason,
    isMuted,
    start,
    end: useCallback(() => session.current?.end(), []),
    say: useCallback((text: string) => session.current?.sendUserMessage(text, { audio: true }), []),
    setMuted: useCallback((muted: boolean) => {
      session.current?.setMicMuted(muted);
      setIsMuted(muted);
    }, []),
    levels: useCallback(() => ({ input: session.current?.getInputVolume() ?? 0, output: session.current?.getOutputVolume() ?? 0 }), []),
  };
}

/** Replaces the segment's line or appends it; an empty final removes it (nothing of it was heard). */
function withLine(lines: readonly Line[], line: Line): readonly Line[] {
  const rest = lines.filter((other) => other.id !== line.id);
  if (line.text === '') return line.isFinal ? rest : lines;
  return lines.some((other) => other.id === line.id) ? lines.map((other) => (other.id === line.id ? line : other)) : [...lines, line];
}
