/**
 * Transport between the client of a web session and its worker: a LiveKit room if a server is configured,
 * otherwise a direct WebRTC connection.
 */
import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { isSameSecret } from '#base/same-secret.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import type { Context } from '../../platform/context.ts';
import { agentIdentity, agentTokenSeconds, callerIdentity } from '../../platform/rooms.ts';

const iceServer = z.object({
  urls: z.union([z.string(), z.array(z.string())]),
  username: z.string().optional(),
  credential: z.string().optional(),
});

/**
 * LiveKit keeps an empty room this much longer than the join deadline. If it closed the room first, the
 * session would end as `cancelled`, as if somebody had closed it.
 */
const ROOM_MARGIN_SECONDS = 60;

/** Transport data for the client; a discriminated union on `transport`. */
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

/** The transport of a session, chosen before anything is stored or charged. */
export interface WebTransport {
  /** The worker's part. */
  readonly plan: CallPlan['transport'];
  /** Name of the session's LiveKit room; null if none. */
  readonly room: string | null;
  /** Hash of the client's token when this server checks it; null when LiveKit does. */
  readonly tokenHash: string | null;
  readonly grant: WebGrant;
  /** Creates what client and worker need before either connects. Throws `gateway_unreachable`. */
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
    grant: { transport: 'livekit', livekit_url: rooms.publicUrl, token },
    prepare: () => rooms.create(sessionId, joinSeconds + ROOM_MARGIN_SECONDS),
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
      webrtc_url: `${context.publicAddress.url}/v1/agent/sessions/${sessionId}/webrtc`,
      token,
      ice_servers: [...context.settings.ICE_SERVERS],
    },
    prepare: async () => undefined,
  };
}

/** Whether a client's token matches the stored hash; false without a hash. */
export function isTokenOf(hash: string | null | undefined, token: string): boolean {
  return isSameSecret(Buffer.from(hashToken(token), 'hex'), Buffer.from(hash ?? '', 'hex'));
}

/** Creates a token that this server checks itself. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Hashes a client's token for storage. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
