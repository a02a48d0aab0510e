/** A colleague who joins a running call: how they connect, and what happens with them. */
import { z } from 'zod';
import { phonePlace } from './phone-places.ts';

/** How a colleague connects by a browser. */
const browserConnection = z.discriminatedUnion('type', [
  z.object({ type: z.literal('webrtc'), sdp: z.string() }),
  /** `token` is the worker's own; `identity` the colleague's. */
  z.object({ type: z.literal('livekit'), url: z.string(), token: z.string(), identity: z.string() }),
]);
export type BrowserConnection = z.output<typeof browserConnection>;

/** How a colleague connects. Workers of older versions do not know phones. */
export const participantConnection = z.discriminatedUnion('type', [
  ...browserConnection.options,
  /** Their phones are rung, and the colleague joins when one answers. */
  z.object({ type: z.literal('phones'), places: z.array(phonePlace).max(8) }),
]);
export type ParticipantConnection = z.output<typeof participantConnection>;

/** A change of what a colleague does in a call. */
export const participantChange = z.enum(['listen', 'take_over', 'leave']);
export type ParticipantChange = z.output<typeof participantChange>;
