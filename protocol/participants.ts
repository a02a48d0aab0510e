/** A colleague who joins a running call: how they connect, and what happens with them. */
import { z } from 'zod';

/** How a colleague connects. */
export const participantConnection = z.discriminatedUnion('type', [
  z.object({ type: z.literal('webrtc'), sdp: z.string() }),
  /** `token` is the worker's own; `identity` the colleague's. */
  z.object({ type: z.literal('livekit'), url: z.string(), token: z.string(), identity: z.string() }),
]);
export type ParticipantConnection = z.output<typeof participantConnection>;

/** A change of what a colleague does in a call. */
export const participantChange = z.enum(['listen', 'take_over', 'leave']);
export type ParticipantChange = z.output<typeof participantChange>;
