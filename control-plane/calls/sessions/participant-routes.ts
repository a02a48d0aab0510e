/**
 * Colleagues in a running call. A colleague gets a token of their own, hears caller and agent, and may take
 * over from the agent. Whatever the transport of the call, colleagues connect like web clients: in a separate
 * LiveKit room with the worker if a LiveKit server is configured, otherwise over a direct connection. Or
 * their phones are rung.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { Fault, fault } from '#config/errors.ts';
import { participantMode } from '#protocol/session-events.ts';
import { extension } from '../../catalogue/phones/extensions.ts';
import { placesOf } from '../../catalogue/phones/phone-places.ts';
import { type Context, newId } from '../../platform/context.ts';
import { bearerToken, callerOf } from '../../platform/http/auth.ts';
import { sendBare } from '../../platform/http/problems.ts';
import { type ApiServer, answerPreflight } from '../../platform/http/server.ts';
import { agentIdentity, agentTokenSeconds, participantRoom, type Rooms } from '../../platform/rooms.ts';
import type {
  SessionDocument,
  SessionHead,
  SessionParticipant,
  SessionWorker,
} from '../../platform/store/models/session-model.ts';
import { isRunning, RUNNING_STATUSES } from '../../platform/store/session-status.ts';
import { offerBody } from './create-session-routes.ts';
import { findSession } from './find-session.ts';
import { loadSessionHead } from './session-store.ts';
import { hashToken, isTokenOf, newToken, webGrant } from './web-transport.ts';

/** Most colleagues who may be added over a whole call; the worker limits those who are in it at once. */
const MAX_PARTICIPANTS = 100;
/** A colleague uses the token immediately. */
const JOIN_SECONDS = 60;
/** The worker's token must outlive the longest call. */
const MAX_CALL_SECONDS = 3_600;

const sessionPath = z.object({ session_id: z.string() });
const participantPath = sessionPath.extend({ participant_id: z.string() });
const joinBody = z
  .strictObject({
    /** Display name for the timeline. */
    name: z.string().min(1).max(120).nullable().default(null),
    mode: participantMode.default('listen'),
    /** Rings the phones with this extension; the colleague joins when one answers. */
    phone_extension: extension.optional(),
  })
  .optional();
const identity = { session_id: z.string(), participant_id: z.string() };
const participantGrant = z.discriminatedUnion('transport', [
  webGrant.options[0].extend(identity),
  webGrant.options[1].extend(identity),
  z.object({ transport: z.literal('phone'), ...identity }),
]);
type ParticipantGrant = z.output<typeof participantGrant>;

/** A session whose caller has joined, and its worker. */
type RunningSession = SessionHead & { readonly worker: SessionWorker };

/** Registers the routes for colleagues in calls. */
export function registerParticipantRoutes(app: ApiServer, context: Context): void {
  registerJoining(app, context);
  registerChanges(app, context);
}

function registerJoining(app: ApiServer, context: Context): void {
  answerPreflight(app, '/v1/agent/sessions/:session_id/participants/:participant_id/webrtc', 'POST');

  app.post(
    '/v1/agent/sessions/:session_id/participants',
    {
      config: { bodyOptional: true, refusesKey: true },
      schema: {
        tags: ['sessions'],
        params: sessionPath,
        body: joinBody,
        response: { 201: participantGrant },
      },
    },
    async (request, reply) => {
      const session = runningSession(
        await findSession(context, callerOf(request).teamId, request.params.session_id),
      );
      if ((session.participants?.length ?? 0) >= MAX_PARTICIPANTS) throw fault('participants_full');
      const wanted = request.body ?? { name: null, mode: 'listen' };
      return reply.code(201).send(await join(context, session, wanted));
    },
  );

  app.post(
    '/v1/agent/sessions/:session_id/participants/:participant_id/webrtc',
    {
      config: { access: 'none', anyOrigin: true },
      onRequest: (request, reply) => authenticateParticipant(context, request as ParticipantRequest, reply),
      schema: {
        tags: ['sessions'],
        params: participantPath,
        body: offerBody,
        response: { 200: z.object({ sdp: z.string(), type: z.literal('answer') }) },
      },
    },
    async (request) => {
      const { session_id: sessionId, participant_id: id } = request.params;
      const session = runningSession(await loadSessionHead(context, sessionId));
      const participant = session.participants?.find((one) => one.id === id);
      if (!participant) throw fault('session_ended');
      const { name, mode } = participant;
      const connection = { type: 'webrtc' as const, sdp: request.body.sdp };
      const { sdp } = await context.dispatch.joinParticipant(session.worker.instance_id, keyOf(session), {
        id,
        name,
        mode,
        connection,
      });
      if (sdp === null) throw fault('gateway_unreachable');
      return { sdp, type: 'answer' as const };
    },
  );
}

function registerChanges(app: ApiServer, context: Context): void {
  app.patch(
    '/v1/agent/sessions/:session_id/participants/:participant_id',
    {
      schema: {
        tags: ['sessions'],
        params: participantPath,
        body: z.strictObject({ mode: participantMode }),
        response: { 200: z.object({ participant_id: z.string(), mode: participantMode }) },
      },
    },
    async (request) => {
      const { session_id: sessionId, participant_id: id } = request.params;
      const { mode } = request.body;
      const session = runningSession(await findSession(context, callerOf(request).teamId, sessionId));
      await context.dispatch.changeParticipant(session.worker.instance_id, keyOf(session), id, mode);
      // Stored so that a colleague who reconnects resumes in the last mode.
      await context.models.sessions.updateOne(
        { _id: sessionId, 'participants.id': id },
        { $set: { 'participants.$.mode': mode } },
      );
      return { participant_id: id, mode };
    },
  );

  app.delete(
    '/v1/agent/sessions/:session_id/participants/:participant_id',
    {
      schema: {
        tags: ['sessions'],
        params: participantPath,
        response: { 204: z.undefined() },
      },
    },
    async (request, reply) => {
      const { session_id: sessionId, participant_id: id } = request.params;
      const session = await findSession(context, callerOf(request).teamId, sessionId);
      const participant = session.participants?.find((one) => one.id === id);
      if (!participant) throw fault('not_found');
      await forgetParticipant(context, sessionId, id);
      // If the call has ended, the colleague is already disconnected.
      if (isAtWorker(session))
        await context.dispatch
          .changeParticipant(session.worker.instance_id, keyOf(session), id, 'leave')
          .catch(ignoreNotFound);
      if (participant.room !== null) await context.rooms?.remove(participant.room);
      return reply.code(204).send();
    },
  );
}

type JoinRequest = NonNullable<z.output<typeof joinBody>>;
type ParticipantRequest = FastifyRequest<{ Params: z.output<typeof participantPath> }>;

function join(context: Context, session: RunningSession, wanted: JoinRequest): Promise<ParticipantGrant> {
  const { phone_extension: phones } = wanted;
  if (phones !== undefined) return joinByPhone(context, session, wanted, phones);
  return context.rooms
    ? joinInRoom(context, context.rooms, session, wanted)
    : joinDirectly(context, session, wanted);
}

/** Rings the phones of the colleague. Throws `phone_not_registered`. */
async function joinByPhone(
  context: Context,
  session: RunningSession,
  { name, mode }: JoinRequest,
  dialled: string,
): Promise<ParticipantGrant> {
  const places = await placesOf(context, session.team_id, dialled);
  if (places.length === 0) throw fault('phone_not_registered', { extension: dialled });
  const id = newId();
  await keepParticipant(context, session, { id, name, mode, token_hash: null, room: null });
  try {
    await context.dispatch.joinParticipant(session.worker.instance_id, keyOf(session), {
      id,
      name,
      mode,
      connection: { type: 'phones', places },
    });
  } catch (error) {
    await forgetParticipant(context, session._id, id);
    throw error;
  }
  return { transport: 'phone', session_id: session._id, participant_id: id };
}

/**
 * Creates the colleague's room. The worker joins it before the grant is returned; on failure everything is
 * removed again.
 */
async function joinInRoom(
  context: Context,
  rooms: Rooms,
  session: RunningSession,
  { name, mode }: JoinRequest,
): Promise<ParticipantGrant> {
  const id = newId();
  const room = participantRoom(session._id, id);
  const theirs = `colleague-${id}`;
  const [token, workersToken] = await Promise.all([
    rooms.token({ room, identity: theirs, role: 'caller', ttlSeconds: JOIN_SECONDS }),
    rooms.token({
      room,
      identity: agentIdentity(session._id),
      role: 'agent',
      ttlSeconds: agentTokenSeconds(JOIN_SECONDS, MAX_CALL_SECONDS),
    }),
  ]);
  await keepParticipant(context, session, { id, name, mode, token_hash: null, room });
  try {
    await rooms.create(room, JOIN_SECONDS);
    const connection = { type: 'livekit' as const, url: rooms.url, token: workersToken, identity: theirs };
    await context.dispatch.joinParticipant(session.worker.instance_id, keyOf(session), {
      id,
      name,
      mode,
      connection,
    });
  } catch (error) {
    await forgetParticipant(context, session._id, id);
    await rooms.remove(room).catch(() => undefined);
    throw error;
  }
  return {
    transport: 'livekit',
    livekit_url: rooms.publicUrl,
    token,
    session_id: session._id,
    participant_id: id,
  };
}

async function joinDirectly(
  context: Context,
  session: RunningSession,
  { name, mode }: JoinRequest,
): Promise<ParticipantGrant> {
  const id = newId();
  const token = newToken();
  await keepParticipant(context, session, { id, name, mode, token_hash: hashToken(token), room: null });
  return {
    transport: 'webrtc',
    webrtc_url: `${context.publicAddress.url}/v1/agent/sessions/${session._id}/participants/${id}/webrtc`,
    token,
    ice_servers: [...context.settings.ICE_SERVERS],
    session_id: session._id,
    participant_id: id,
  };
}

/** Throws `session_ended` if the session has ended in the meantime. */
async function keepParticipant(
  context: Context,
  session: RunningSession,
  participant: SessionParticipant,
): Promise<void> {
  const { matchedCount } = await context.models.sessions.updateOne(
    { _id: session._id, status: { $in: [...RUNNING_STATUSES] } },
    { $push: { participants: participant } },
  );
  if (matchedCount === 0) throw fault('session_ended');
}

async function forgetParticipant({ models }: Context, sessionId: string, id: string): Promise<void> {
  await models.sessions.updateOne({ _id: sessionId }, { $pull: { participants: { id } } });
}

function isAtWorker(session: SessionHead): session is RunningSession {
  return isRunning(session.status) && session.worker !== null;
}

/** Throws `call_not_running` before the caller has joined and `session_ended` after the end. */
function runningSession(session: SessionHead | SessionDocument | null): RunningSession {
  if (session && isAtWorker(session)) return session;
  throw fault(session?.status === 'pending' ? 'call_not_running' : 'session_ended');
}

function keyOf({ _id, epoch }: RunningSession): { sessionId: string; epoch: number } {
  return { sessionId: _id, epoch };
}

function ignoreNotFound(error: unknown): void {
  if (error instanceof Fault && error.code === 'not_found') return;
  throw error;
}

/**
 * Access requires the participant's token; an unknown session or participant and a wrong token get the same
 * response.
 */
async function authenticateParticipant(
  context: Context,
  request: ParticipantRequest,
  reply: FastifyReply,
): Promise<FastifyReply | undefined> {
  const token = bearerToken(request.headers.authorization);
  if (token === null) {
    sendBare(reply, 401);
    return reply;
  }
  const session = await loadSessionHead(context, request.params.session_id);
  const participant = session?.participants?.find(({ id }) => id === request.params.participant_id);
  if (!isTokenOf(participant?.token_hash, token)) throw fault('invalid_token');
  return undefined;
}
