/** What `/sdk.js` exports. */
// biome-ignore lint/performance/noBarrelFile: this file is the published module's surface, not an internal short cut.
export { AgentSession } from './agent-session.ts';
export { SessionError } from './events.ts';
