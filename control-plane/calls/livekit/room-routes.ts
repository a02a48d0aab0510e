/**
 * LiveKit's webhook (`POST /webhooks/livekit`, signed), and the token that lets a team member listen to the
 * room of a web session.
 */
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { type Context, newId } from '../../platform/context.ts';
import { callerOf } from '../../platform/http/auth.ts';
import { sendBare } from '../../platform/http/problems.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { findSession } from '../sessions/find-session.ts';
import { closeRoomIfSessionEnded } from './reconcile-rooms.ts';

const MONITOR_TOKEN_SECONDS = 60;
const BODY_LIMIT_BYTES = 256 * 1024;
/** Events after which a participant may have left. */
const DEPARTURES: ReadonlySet<string> = new Set([
  'participant_left',
  'participant_connection_aborted',
  'room_finished',
]);

const monitorGrant = z.object({
  livekit_url: z.string(),
  token: z.string(),
  room: z.string(),
  identity: z.string(),
});

/** Registers the room routes. */
export async function registerRoomRoutes(app: ApiServer, context: Context): Promise<void> {
  await app.register((scope, _options, done) => {
    // The signature covers the raw body.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      ['application/webhook+json', 'application/json'],
      { parseAs: 'string', bodyLimit: BODY_LIMIT_BYTES },
      (_request, body, parsed) => parsed(null, body),
    );
    scope.post(
      '/webhooks/livekit',
      { config: { access: 'none' }, schema: { hide: true } },
      async (request, reply) => {
        const body = typeof request.body === 'string' ? request.body : '';
        const event = await context.rooms?.readEvent(body, request.headers.authorization);
        if (!context.rooms || !event) {
          sendBare(reply, 401);
          return reply;
        }
        context.logger.debug(
          { event: event.event, room: event.room, identity: event.identity },
          'received a LiveKit webhook',
        );
        if (DEPARTURES.has(event.event)) context.workSignals.notify('rooms');
        if (event.event === 'participant_joined' && event.room !== null)
          await closeRoomIfSessionEnded(context, context.rooms, event.room);
        return reply.code(200).send();
      },
    );
    done();
  });

  app.post(
    '/v1/agent/sessions/:session_id/monitor',
    {
      config: { bodyOptional: true },
      schema: {
        tags: ['sessions'],
        params: z.object({ session_id: z.string() }),
        response: { 201: monitorGrant },
      },
    },
    async (request, reply) => {
      const session = await findSession(context, callerOf(request).teamId, request.params.session_id);
      if (context.rooms === null || session.room === null) throw fault('not_found');
      if (session.status !== 'active' && session.status !== 'unknown') throw fault('session_ended');
      const identity = `monitor-${newId()}`;
      const token = await context.rooms.token({
        room: session.room,
        identity,
        role: 'monitor',
        ttlSeconds: MONITOR_TOKEN_SECONDS,
      });
      return reply
        .code(201)
        .send({ livekit_url: context.rooms.publicUrl, token, room: session.room, identity });
    },
  );
}
