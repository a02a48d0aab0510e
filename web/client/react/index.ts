/** React entry point of the browser client. */
// biome-ignore-start lint/performance/noBarrelFile: this file is the published module's surface, not an internal short cut.
export { AgentVisualizer, type AgentVisualizerProps, useAudioLevels } from './audio-levels.tsx';
export { AgentSessionProvider, useAgentSessionContext } from './provider.tsx';
export { type AgentMessage, useAgentMessages } from './use-agent-messages.ts';
export { type Conversation, useConversation } from './use-conversation.ts';
// biome-ignore-end lint/performance/noBarrelFile: see above
