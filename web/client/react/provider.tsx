/** Provides one conversation to a tree of components. */
import { createContext, type ReactNode, useContext } from 'react';
import { type Conversation, useConversation } from './use-conversation.ts';

/** Null outside a provider. */
export const ConversationContext = createContext<Conversation | null>(null);

/** Provides a conversation to its children. */
export function AgentSessionProvider({ children }: { children?: ReactNode }) {
  return <ConversationContext value={useConversation()}>{children}</ConversationContext>;
}

/** Returns the conversation of the enclosing provider. Throws without a provider. */
export function useAgentSessionContext(): Conversation {
  const conversation = useContext(ConversationContext);
  if (!conversation)
    throw new Error('useAgentSessionContext: put an <AgentSessionProvider> around this component');
  return conversation;
}
