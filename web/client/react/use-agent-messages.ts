/** The messages of a conversation as a list to render. */
import { useContext, useEffect, useState } from 'react';
import type { AgentSession } from '../agent-session.ts';
import { ConversationContext } from './provider.tsx';

/** A message; its text may change until it is final. */
export interface AgentMessage {
  readonly key: string;
  readonly role: 'user' | 'agent';
  readonly text: string;
  readonly final: boolean;
}

/**
 * Messages of a session, by default the provider's. The messages of the last session stay until the next one
 * starts.
 */
export function useAgentMessages(session?: AgentSession | null): readonly AgentMessage[] {
  const inherited = useContext(ConversationContext)?.session ?? null;
  const watched = session === undefined ? inherited : session;
  const [messages, setMessages] = useState<readonly AgentMessage[]>([]);
  useEffect(() => {
    if (!watched) return setMessages([]);
    const read = () =>
      setMessages(
        watched
          .getTranscript()
          .map(({ segmentId, role, text, final }) => ({ key: `${role} ${segmentId}`, role, text, final })),
      );
    read();
    const stops = [watched.on('userTranscript', read), watched.on('agentResponseDelta', read)];
    return () => {
      for (const stop of stops) stop();
    };
  }, [watched]);
  return messages;
}
