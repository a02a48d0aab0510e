/** One conversation for a tree of components. */
import { createContext, type ReactNode, useContext } from 'react';
import { type Conversation, useConversation } from './use-conversation.ts';

/** Null outside of a provider. */
export const ConversationContext = createContext<Conversation | null>(null);

/** Holds the conversation for what is inside. */
export function AgentSessionProvider({ children }: { children?: ReactNode }) {
  return <ConversationContext value={useConversation()}>{children}</ConversationContext>;
}

/** The conversation of the provider around the component. Throws where there is none. */
export function useAgentSessionContext(): Conversation {
  const conversation = useContext(ConversationContext);
  if (!conversation)
    throw new Error('useAgentSessionContext: put an <AgentSessionProvider> around this component');
  return conversation;
}
