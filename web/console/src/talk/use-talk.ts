/** The talk page's conversation: the React state of the browser client plus errors in words for visitors. */
import { useCallback, useEffect, useState } from 'react';
import { SessionError } from '../../../client/events.ts';
import { type AgentMessage, useAgentMessages } from '../../../client/react/use-agent-messages.ts';
import { type Conversation, useConversation } from '../../../client/react/use-conversation.ts';

export interface Talk {
  readonly conversation: Conversation;
  readonly lines: readonly AgentMessage[];
  readonly problem: string | null;
  /** False in a typed conversation, which has no microphone to mute. */
  readonly hasMicrophone: boolean;
  /** Starts a conversation; `message` is sent at once, if given. */
  start(agentId: string, microphone: boolean, message?: string): Promise<void>;
  levels(): { readonly input: number; readonly output: number };
}

/** A conversation with the lifetime of its component. */
export function useTalk(): Talk {
  const conversation = useConversation();
  const { session, startSession } = conversation;
  const lines = useAgentMessages(session);
  const [problem, setProblem] = useState<string | null>(null);
  const [hasMicrophone, setHasMicrophone] = useState(false);
  useEffect(() => session?.on('error', (error) => setProblem(error.message)), [session]);

  const start = useCallback(
    async (agentId: string, microphone: boolean, message?: string) => {
      setProblem(null);
      setHasMicrophone(microphone);
      try {
        const started = await startSession({ agentId, microphone });
        if (message !== undefined) started.sendUserMessage(message, { audio: true });
      } catch (error) {
        setProblem(error instanceof SessionError ? error.message : 'The conversation could not be started');
      }
    },
    [startSession],
  );
  const levels = useCallback(
    () => ({ input: session?.getInputVolume() ?? 0, output: session?.getOutputVolume() ?? 0 }),
    [session],
  );
  return { conversation, lines, problem, hasMicrophone, start, levels };
}
