/** Exports of `/sdk.js`. */
// biome-ignore-start lint/performance/noBarrelFile: this file is the published module's surface, not an internal short cut.
export { AgentSession } from './agent-session.ts';
export type { ClientTool } from './client-tools.ts';
export type { AgentMode, EndReason, SessionErrorCode, SessionEvents, SessionStatus } from './events.ts';
export { SessionError } from './events.ts';
export type { Callbacks, StartOptions } from './options.ts';
export type { TranscriptSegment } from './transcript.ts';
export type { Overrides, SessionGrant } from './wire.ts';
// biome-ignore-end lint/performance/noBarrelFile: see above
