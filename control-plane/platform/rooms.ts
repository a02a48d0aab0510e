/**
 * `Rooms`: the LiveKit server as the control plane uses it: rooms of sessions, the tokens to them, and its
 * signed webhooks. The only importer of its server SDK.
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
import type { SessionDocument } from './store/models/session-model.ts';

const REQUEST_TIMEOUT_S = 5;
/**
 * A room nobody is in any more is closed by LiveKit after this long: callers who lost their connection come
 * back to it.
 */
const DEPARTURE_S = 30;
/** The agent's token outlives the longest conversation, so that it can come back to the room. */
const AGENT_TOKEN_MARGIN_S = 600;

/** Who may do what in a room. */
export type RoomRole = 'caller' | 'agent' | 'monitor';

/** A token to be made. */
export interface RoomTokenOptions {
  readonly room: string;
  readonly identity: string;
  readonly role: RoomRole;
  /** Seconds until it can no longer be used to join. */
  readonly ttlSeconds: number;
}

/** A signed message of the LiveKit server. */
export interface RoomNews {
  readonly event: string;
  readonly room: string | null;
  readonly identity: string | null;
}

/** Rooms on one LiveKit server. */
export interface Rooms {
  /** Address clients and workers connect to (ws or wss). */
  readonly url: string;
  /**
   * Makes a room that waits `emptySeconds` for its first participant. Throws `Fault('gateway_unreachable')`.
   */
  create(room: string, emptySeconds: number): Promise<void>;
  /**
   * Sends everybody out and forgets the room; one that is gone already is fine. Throws
   * `Fault('gateway_unreachable')`.
   */
  remove(room: string): Promise<void>;
  /** Names of the rooms there are, of other applications too. Throws `Fault('gateway_unreachable')`. */
  list(): Promise<readonly string[]>;
  /**
   * Identities of who is in a room; none where there is no such room. Throws `Fault('gateway_unreachable')`.
   */
  participants(room: string): Promise<readonly string[]>;
  token(options: RoomTokenOptions): Promise<string>;
  /** Reads a webhook; null when it was not signed with our secret. */
  readNews(body: string, authorization: string | undefined): Promise<RoomNews | null>;
}

/** Nobody publishes pictures or screens: what is not a microphone is refused by the server. */
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

/** Identity of the caller in a session's room. */
export function callerIdentity(sessionId: string): string {
  return `user-${sessionId}`;
}

/** Identity of the agent in a session's room. */
export function agentIdentity(sessionId: string): string {
  return `agent-${sessionId}`;
}

/** Name of the room a colleague shares with the worker. */
export function participantRoom(sessionId: string, participantId: string): string {
  return `${sessionId}.${participantId}`;
}

/** The session a room of ours belongs to, its own or a colleague's. */
export function sessionOfRoom(room: string): string {
  return room.split('.')[0] ?? room;
}

/** Rooms that go with a session. */
export function roomsOf({
  room,
  participants = [],
}: Pick<SessionDocument, 'room' | 'participants'>): string[] {
  return [room, ...participants.map((participant) => participant.room)].filter((name) => name !== null);
}

/** How long an agent's token is good for. */
export function agentTokenSeconds(joinSeconds: number, maxDurationSeconds: number): number {
  return joinSeconds + maxDurationSeconds + AGENT_TOKEN_MARGIN_S;
}

/** The rooms the settings name; null when web sessions do without. */
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
      logger.warn({ err: error }, 'LiveKit did not do what was asked');
      throw fault('gateway_unreachable', {}, { cause: error });
    }
  };
  return {
    url: LIVEKIT_URL.replace(/^http/, 'ws'),
    create: async (room, emptySeconds) => {
      await reach(
        service.createRoom({ name: room, emptyTimeout: emptySeconds, departureTimeout: DEPARTURE_S }),
      );
    },
    remove: (room) => reach(service.deleteRoom(room).catch(unlessGone)),
    list: async () => (await reach(service.listRooms())).map(({ name }) => name),
    participants: async (room) =>
      ((await reach(service.listParticipants(room).catch(unlessGone))) ?? []).map(({ identity }) => identity),
    async token({ room, identity, role, ttlSeconds }) {
      const token = new AccessToken(key, secret, { identity, ttl: ttlSeconds });
      token.addGrant({ room, roomJoin: true, ...GRANTS[role] });
      // Lets it send the caller's transcripts in the caller's name, and keeps it from holding a room open.
      if (role === 'agent') token.kind = 'agent';
      return token.toJwt();
    },
    async readNews(body, authorization) {
      try {
        const { event, room, participant } = await receiver.receive(body, authorization);
        return { event, room: room?.name ?? null, identity: participant?.identity ?? null };
      } catch {
        return null;
      }
    },
  };
}

/** A room that is not there is what was wanted, or empty. */
function unlessGone(error: unknown): void {
  if (error instanceof Error && 'code' in error && error.code === 'not_found') return;
  throw error;
}
