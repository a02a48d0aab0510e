/** What was said, as a list to render. */
import { useContext, useEffect, useState } from 'react';
import type { AgentSession } from '../agent-session.ts';
import { ConversationContext } from './provider.tsx';

/** One message; its text may still change until it is final. */
export interface AgentMessage {
  readonly key: string;
  readonly role: 'user' | 'agent';
  readonly text: string;
  readonly final: boolean;
}

/** The messages of a session, the provider's by default; those of the last one stay until the next begins. */
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
