/**
 * How the client of a web session and its worker find each other: a LiveKit room where a server is
 * configured, a direct WebRTC connection otherwise.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { Context } from '../../platform/context.ts';
import { agentIdentity, agentTokenSeconds, callerIdentity } from '../../platform/rooms.ts';

const iceServer = z.object({
  urls: z.union([z.string(), z.array(z.string())]),
  username: z.string().optional(),
  credential: z.string().optional(),
});

/** What a client is told of the transport; a discriminated union on `transport`. */
export const webGrant = z.discriminatedUnion('transport', [
  z.object({
    transport: z.literal('webrtc'),
    webrtc_url: z.string(),
    token: z.string(),
    ice_servers: z.array(iceServer),
  }),
  z.object({ transport: z.literal('livekit'), livekit_url: z.string(), token: z.string() }),
]);
type WebGrant = z.output<typeof webGrant>;

/** One session's transport, chosen before anything is stored or charged. */
export interface WebTransport {
  /** What the worker is told. */
  readonly plan: CallPlan['transport'];
  /** Name of the session's LiveKit room; null if none. */
  readonly room: string | null;
  /** What is stored of a client's token that this server checks itself; null where LiveKit does. */
  readonly tokenHash: string | null;
  readonly grant: WebGrant;
  /** Makes what both need before either comes. Throws `gateway_unreachable`. */
  prepare(): Promise<void>;
}

/** Chooses the transport of a new session. */
export async function chooseTransport(
  context: Context,
  sessionId: string,
  maxDurationSeconds: number,
): Promise<WebTransport> {
  const { rooms, settings } = context;
  if (rooms === null) return directTransport(context, sessionId);
  const joinSeconds = settings.SESSION_JOIN_SECONDS;
  const [token, agentToken] = await Promise.all([
    rooms.token({
      room: sessionId,
      identity: callerIdentity(sessionId),
      role: 'caller',
      ttlSeconds: joinSeconds,
    }),
    rooms.token({
      room: sessionId,
      identity: agentIdentity(sessionId),
      role: 'agent',
      ttlSeconds: agentTokenSeconds(joinSeconds, maxDurationSeconds),
    }),
  ]);
  return {
    plan: { type: 'livekit', url: rooms.url, token: agentToken, caller_identity: callerIdentity(sessionId) },
    room: sessionId,
    tokenHash: null,
    grant: { transport: 'livekit', livekit_url: rooms.url, token },
    prepare: () => rooms.create(sessionId, joinSeconds),
  };
}

function directTransport(context: Context, sessionId: string): WebTransport {
  const token = newToken();
  return {
    plan: { type: 'webrtc' },
    room: null,
    tokenHash: hashToken(token),
    grant: {
      transport: 'webrtc',
      webrtc_url: `${context.publicUrl()}/v1/agent/sessions/${sessionId}/webrtc`,
      token,
      ice_servers: [...context.settings.ICE_SERVERS],
    },
    prepare: async () => undefined,
  };
}

/** Whether a client's token is the one whose hash is stored; never where none is. */
export function isTokenOf(hash: string | null | undefined, token: string): boolean {
  const expected = Buffer.from(hash ?? '', 'hex');
  const given = Buffer.from(hashToken(token), 'hex');
  return expected.length === given.length && timingSafeEqual(expected, given);
}

/** A token this server checks itself. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** What is stored of a client's token. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
