/**
 * The rooms of a LiveKit server. Only this file imports the LiveKit server SDK, and only a process with a
 * LiveKit server loads it: the SDK takes a tenth of the start.
 */
import {
  AccessToken,
  RoomServiceClient,
  TrackSource,
  type VideoGrant,
  WebhookReceiver,
} from 'livekit-server-sdk';
import type { Logger } from '#base/log.ts';
import type { Settings } from '#config/env.ts';
import { fault } from '#config/errors.ts';
import type { RoomRole, Rooms, RoomsProblem } from './rooms.ts';

const REQUEST_TIMEOUT_S = 5;
/** LiveKit closes an empty room after this time; until then, callers who lost their connection can return. */
const DEPARTURE_S = 30;

/** Audio only: the server refuses every track that is not from a microphone. */
const SPEAKS = {
  canPublish: true,
  canPublishSources: [TrackSource.MICROPHONE],
  canSubscribe: true,
  canPublishData: true,
};
const GRANTS: Record<RoomRole, VideoGrant> = {
  caller: SPEAKS,
  agent: { ...SPEAKS, canUpdateOwnMetadata: true },
  monitor: { canPublish: false, canSubscribe: true, canPublishData: false, hidden: true },
};

/** Opens the rooms from the settings; null if LiveKit is not configured. */
export function openRooms(settings: Settings, logger: Logger): Rooms | null {
  const { LIVEKIT_URL, LIVEKIT_API_KEY: key, LIVEKIT_API_SECRET: secret } = settings;
  if (LIVEKIT_URL === undefined || key === undefined || secret === undefined) return null;
  const service = new RoomServiceClient(LIVEKIT_URL.replace(/^ws/, 'http'), key, secret, {
    requestTimeout: REQUEST_TIMEOUT_S,
  });
  const receiver = new WebhookReceiver(key, secret);
  const reach = async <Value>(request: Promise<Value>): Promise<Value> => {
    try {
      return await request;
    } catch (error) {
      logger.warn({ err: error }, 'a request to LiveKit failed');
      throw fault('gateway_unreachable', {}, { cause: error });
    }
  };
  return {
    url: LIVEKIT_URL.replace(/^http/, 'ws'),
    publicUrl: (settings.LIVEKIT_PUBLIC_URL ?? LIVEKIT_URL).replace(/^http/, 'ws'),
    create: async (room, emptySeconds) => {
      await reach(
        service.createRoom({ name: room, emptyTimeout: emptySeconds, departureTimeout: DEPARTURE_S }),
      );
    },
    remove: (room) => reach(service.deleteRoom(room).catch(ignoreNotFound)),
    list: async () => (await reach(service.listRooms())).map(({ name }) => name),
    participants: async (room) =>
      ((await reach(service.listParticipants(room).catch(ignoreNotFound))) ?? []).map(
        ({ identity }) => identity,
      ),
    async token({ room, identity, role, ttlSeconds }) {
      const token = new AccessToken(key, secret, { identity, ttl: ttlSeconds });
      token.addGrant({ room, roomJoin: true, ...GRANTS[role] });
      // Lets the agent publish transcripts on behalf of the caller; its presence does not keep a room open.
      if (role === 'agent') token.kind = 'agent';
      return token.toJwt();
    },
    async readEvent(body, authorization) {
      try {
        const { event, room, participant } = await receiver.receive(body, authorization);
        return { event, room: room?.name ?? null, identity: participant?.identity ?? null };
      } catch {
        return null;
      }
    },
    problem: () =>
      service.listRooms().then(
        () => null,
        (error: unknown) => problemOf(error, LIVEKIT_URL),
      ),
  };
}

/** The server's message contains the token, so it is not repeated. */
function problemOf(error: unknown, url: string): RoomsProblem {
  const { status, message } = error as { readonly status?: unknown; readonly message?: unknown };
  if (typeof status !== 'number')
    return { setting: 'LIVEKIT_URL', text: `no LiveKit server answers at ${url}` };
  // A server without LiveKit's API, or a proxy whose LiveKit is away.
  if (status !== 401 && status !== 403) {
    const isOther = status < 500 && status !== 429;
    return {
      setting: 'LIVEKIT_URL',
      text: `${url} answers with HTTP ${status}${isOther ? ', which is not LiveKit' : ''}`,
    };
  }
  return String(message).includes('invalid API key')
    ? { setting: 'LIVEKIT_API_KEY', text: `the LiveKit server at ${url} does not know this key` }
    : {
        setting: 'LIVEKIT_API_SECRET',
        text: `the LiveKit server at ${url} refuses what is signed with it, or its clock differs by minutes`,
      };
}

/** Ignores a missing room: there is nothing to delete and no participant to list. */
function ignoreNotFound(error: unknown): void {
  if (error instanceof Error && 'code' in error && error.code === 'not_found') return;
  throw error;
}
