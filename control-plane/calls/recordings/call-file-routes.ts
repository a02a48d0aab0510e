/**
 * Export of an ended call to one signed HTML file, for keys that may do so; what was signed of a call while
 * it runs; and the public keys with which both are verified.
 */
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { KEYS_PATH } from '#protocol/call-file.ts';
import type { Context } from '../../platform/context.ts';
import { callerOf, requireExportRight } from '../../platform/http/auth.ts';
import type { ApiServer } from '../../platform/http/server.ts';
import { workingOnCalls } from '../../platform/limits/request-places.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { isLive } from '../../platform/store/session-status.ts';
import { linksOf } from '../sessions/call-chain.ts';
import { findSession } from '../sessions/find-session.ts';
import { callKeys } from '../sessions/signing-keys.ts';
import type { Redaction } from './call-file-part.ts';
import { callPage } from './call-page.ts';
import { isAwaited } from './recording-routes.ts';
import { listSegments } from './recording-store.ts';
import { callFile, partsOf } from './write-call-file.ts';

const REDACTION = /^(?:caller_audio|agent_audio|transcript|numbers|flight_log|item:[1-9][0-9]{0,4})$/;
const REDACTABLE = 'caller_audio, agent_audio, transcript, numbers, flight_log or item:<number>';

const exportBody = z.strictObject({
  redact: z
    .array(z.string().regex(REDACTION, `must be ${REDACTABLE}`))
    .max(LIMITS.callFileRedactions)
    .default([]),
});

const callChain = z.object({
  session_id: z.string().describe('Id of the session'),
  links: z.number().int().describe('How often something of the call was signed while it ran'),
  digest: z
    .string()
    .nullable()
    .describe(
      'SHA-256 of the last link, base64url: it fixes all that was signed so far; null before the first one',
    ),
  signed_at: z.iso.datetime().nullable().describe('When the last link was signed; null before the first one'),
  link: z.string().nullable().describe('The last link, exactly as signed; null before the first one'),
  signature: z.string().nullable().describe('Its Ed25519 signature, base64; null before the first link'),
});

/** Registers the routes. */
export function registerCallFileRoutes(app: ApiServer, context: Context): void {
  app.post(
    '/v1/agent/sessions/:session_id/call-file',
    {
      config: { isAudited: true },
      schema: { tags: ['sessions'], params: z.object({ session_id: z.string() }), body: exportBody },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const session = await findSession(context, caller.teamId, request.params.session_id);
      requireExportRight(caller);
      await requireWhole(context, session);
      const page = await callPage();
      if (!page) throw fault('call_page_not_built');
      const redactions = new Set(request.body.redact as Redaction[]);
      await workingOnCalls(context, caller, 'callFiles', async () => {
        const call = { session, redactions, page };
        const parts = await partsOf(context, call);
        context.logger.info({ sessionId: session._id, keyId: caller.keyId }, 'call exported');
        return sendWhole(reply, session._id, callFile(context, call, parts));
      });
      return reply;
    },
  );

  app.get(
    '/v1/agent/sessions/:session_id/call-chain',
    {
      schema: {
        tags: ['sessions'],
        params: z.object({ session_id: z.string() }),
        response: { 200: callChain },
      },
    },
    async (request) => {
      const session = await findSession(context, callerOf(request).teamId, request.params.session_id);
      if (!session.wrapped_key) throw fault('call_erased');
      if (!session.chain_head) throw fault('not_found');
      const links = linksOf(context, session);
      const last = links.at(-1);
      return {
        session_id: session._id,
        links: links.length,
        digest: last?.digest ?? null,
        signed_at: last?.signedAt.toISOString() ?? null,
        link: last?.link ?? null,
        signature: last?.signature ?? null,
      };
    },
  );

  app.get(KEYS_PATH, { config: { access: 'none', anyOrigin: true }, schema: { hide: true } }, async () =>
    callKeys(context),
  );
}

/** Throws unless the call is over, everything of it is stored, and none of it was erased. */
async function requireWhole(context: Context, session: SessionDocument): Promise<void> {
  if (isLive(session.status))
    throw fault('conflict', { detail: 'The call is still running: export it once it has ended' });
  if (!session.wrapped_key) throw fault('call_erased');
  if (isAwaited(context, session, await listSegments(context, session._id)))
    throw fault('conflict', {
      detail: 'The last seconds of the recording are being stored: export the call in a moment',
    });
}

/** Resolves when the answer has been sent, or its client is gone. */
async function sendWhole(
  reply: FastifyReply,
  sessionId: string,
  text: AsyncGenerator<string>,
): Promise<void> {
  reply
    .type('text/html; charset=utf-8')
    .header('Content-Disposition', `attachment; filename="call-${sessionId}.html"`)
    .header('Cache-Control', 'private, no-store')
    .send(Readable.from(text, { objectMode: false }));
  // Ends at once, too, if the client has gone in the meantime.
  await finished(reply.raw).catch(() => undefined);
}
