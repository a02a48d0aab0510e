/** A conversation as React state: one at a time, ended when its component unmounts. */
import { useCallback, useEffect, useRef, useState } from 'react';
import { AgentSession } from '../agent-session.ts';
import type { AgentMode, SessionStatus } from '../events.ts';
import type { StartOptions } from '../options.ts';

/** State and actions of a component's conversation. */
export interface Conversation {
  /** `idle` until the first start. */
  readonly status: SessionStatus | 'idle';
  readonly mode: AgentMode;
  readonly isSpeaking: boolean;
  readonly micMuted: boolean;
  /** Null without a conversation. */
  readonly session: AgentSession | null;
  /** Starts a conversation. If one is running or starting, returns that one. Rejects with `SessionError`. */
  startSession(options: StartOptions): Promise<AgentSession>;
  /** Hangs up; cancels a start in progress. */
  endSession(): void;
  setMicMuted(muted: boolean): void;
  sendUserMessage(text: string, options?: { audio?: boolean }): void;
  sendUserActivity(): void;
  interrupt(): void;
}

/** A conversation with the lifetime of the component. */
export function useConversation(): Conversation {
  const starting = useRef<Promise<AgentSession> | null>(null);
  const [session, setSession] = useState<AgentSession | null>(null);
  const [status, setStatus] = useState<SessionStatus | 'idle'>('idle');
  const [mode, setMode] = useState<AgentMode>('listening');
  const [micMuted, setMuted] = useState(false);

  const startSession = useCallback((options: StartOptions): Promise<AgentSession> => {
    if (starting.current) return starting.current;
    setStatus('connecting');
    const begun: Promise<AgentSession> = begin(options).catch((error: unknown) => {
      if (starting.current === begun) {
        starting.current = null;
        setStatus('idle');
      }
      throw error;
    });
    starting.current = begun;
    return begun;

    async function begin(wanted: StartOptions): Promise<AgentSession> {
      const started = await AgentSession.start(wanted);
      if (starting.current !== begun) {
        started.end();
        return started;
      }
      started.on('modeChange', (change) => setMode(change.mode));
      started.on('statusChange', (change) => {
        setStatus(change.status);
        if (change.status === 'ended' && starting.current === begun) starting.current = null;
      });
      setSession(started);
      setMode(started.mode);
      setMuted(started.micMuted);
      setStatus(started.status);
      return started;
    }
  }, []);

  const endSession = useCallback(() => {
    const running = starting.current;
    starting.current = null;
    setStatus((before) => (before === 'idle' ? 'idle' : 'ended'));
    running?.then(
      (started) => started.end(),
      () => undefined,
    );
  }, []);
  useEffect(() => endSession, [endSession]);

  return {
    status,
    mode,
    isSpeaking: mode === 'speaking',
    micMuted,
    session,
    startSession,
    endSession,
    setMicMuted: useCallback(
      (muted: boolean) => {
        session?.setMicMuted(muted);
        setMuted(session?.micMuted ?? false);
      },
      [session],
    ),
    sendUserMessage: useCallback(
      (text: string, options?: { audio?: boolean }) => session?.sendUserMessage(text, options),
      [session],
    ),
    sendUserActivity: useCallback(() => session?.sendUserActivity(), [session]),
    interrupt: useCallback(() => session?.interrupt(), [session]),
  };
}
