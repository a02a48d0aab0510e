/**
 * `POST /v1/agent/sessions`, called with a key, or without one from public pages, and the WebRTC offer/answer
 * exchange of a web session.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { Fault, type FaultCode, fault } from '#config/errors.ts';
import { findCalledAgent } from '../../catalogue/agents/agent-store.ts';
import { requirePublicOrigin } from '../../catalogue/agents/public-origin.ts';
import { loadPublished, type PublishedAgent } from '../../catalogue/agents/publish.ts';
import {
  type CalledVersion,
  type DrawnCall,
  liveVersions,
  versionOfCall,
} from '../../catalogue/agents/version-of-call.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import { bearerToken, type Caller, requireBeta } from '../../platform/http/auth.ts';
import { sendBare } from '../../platform/http/problems.ts';
import { type ApiServer, answerPreflight } from '../../platform/http/server.ts';
import { loggingRefusals } from '../../platform/refusals/log-refusal.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { isLive } from '../../platform/store/session-status.ts';
import { type Overrides, overrideFields } from '../plans/build-plan.ts';
import { createWebSession, type WebSession, webSessionRecord } from './create-session.ts';
import { checkPromptLength, type SessionRequest, sessionBody } from './session-request.ts';
import { loadSession } from './session-store.ts';
import { isTokenOf } from './web-transport.ts';

/** Public rate limits are counted per clock minute. */
const RATE_WINDOW_MS = 60_000;
/** An SDP with many candidates is only a few kilobytes. */
const MAX_SDP_CHARS = 200_000;
/** Overrides a page without a key may use, whatever the agent allows. */
const PUBLIC_OVERRIDES = new Set<string>(['language', 'voice_id']);

const sessionPath = z.object({ session_id: z.string() });
/** A browser's offer. */
export const offerBody = z.strictObject({
  sdp: z.string().min(1).max(MAX_SDP_CHARS),
  type: z.literal('offer'),
});

/** Registers session creation and the WebRTC exchange. */
export function registerCreateSessionRoutes(app: ApiServer, context: Context): void {
  answerPreflight(app, '/v1/agent/sessions', 'POST');
  answerPreflight(app, '/v1/agent/sessions/:session_id/webrtc', 'POST');

  app.post(
    '/v1/agent/sessions',
    {
      config: { access: 'optional', anyOrigin: true, refusesKey: true },
      // Runs before the body is read, because the beta refusal must be the first check.
      onRequest: async (request) => {
        if (request.caller) requireBeta(context, request.caller);
      },
      schema: { tags: ['sessions'], body: sessionBody, response: { 201: webSessionRecord } },
    },
    async (request, reply) => {
      const { agent_id: agentId, ...wanted } = request.body;
      await checkPromptLength(wanted);
      const created = request.caller
        ? await createByKey(context, request.caller, agentId, wanted)
        : await createPublicly(context, { origin: request.headers.origin, ip: request.ip }, agentId, wanted);
      request.createdSession = created.session_id;
      return reply.code(201).send(created);
    },
  );

  app.post(
    '/v1/agent/sessions/:session_id/webrtc',
    {
      config: { access: 'none', anyOrigin: true },
      onRequest: (request, reply) =>
        authenticateClient(
          context,
          request as FastifyRequest<{ Params: z.output<typeof sessionPath> }>,
          reply,
        ),
      schema: {
        tags: ['sessions'],
        params: sessionPath,
        body: offerBody,
        response: { 200: z.object({ sdp: z.string(), type: z.literal('answer') }) },
      },
    },
    async (request) => {
      const session = await loadSession(context, request.params.session_id);
      if (!session || !isJoinable(context, session)) throw fault('session_ended');
      if (!session.worker) throw fault('gateway_unreachable');
      const key = { sessionId: session._id, epoch: session.epoch };
      const answer = await context.dispatch.offerWebrtc(session.worker.instance_id, key, request.body.sdp);
      return { sdp: answer.sdp, type: 'answer' as const };
    },
  );
}

/**
 * Creates a conversation with an agent that a key may call; `drawn` is the person and the session. Throws
 * `not_found`, `agent_not_published`, `agent_archived` and `override_not_allowed`; refusals are logged.
 */
export async function withCalledAgent<Created>(
  context: Context,
  { teamId }: Caller,
  {
    agentId,
    overrides,
    drawn,
  }: {
    readonly agentId: string;
    readonly overrides: Overrides | null | undefined;
    readonly drawn: DrawnCall;
  },
  create: (called: CalledVersion & { readonly agent: AgentDocument }) => Promise<Created>,
): Promise<Created> {
  const [agent, { version, share }] = await Promise.all([
    findCalledAgent(context, teamId, agentId),
    liveVersions(context, agentId),
  ]);
  return loggingRefusals(context, { kind: 'session', teamId: agent.team_id, agentId }, async () => {
    requireAllowed(agent, overrides ?? {});
    requireServing(agent, version);
    return create({ agent, ...(await versionOfCall(context, { version, share }, drawn)) });
  });
}

async function createByKey(
  context: Context,
  caller: Caller,
  agentId: string,
  request: SessionRequest,
): Promise<WebSession> {
  const drawn = { caller: request.end_user_id ?? null, sessionId: newId() };
  return withCalledAgent(context, caller, { agentId, overrides: request.overrides, drawn }, (called) =>
    createWebSession(context, {
      ...called,
      sessionId: drawn.sessionId,
      payer: caller,
      source: 'api_key',
      isPreview: false,
      request,
    }),
  );
}

/** Refusals caused by the state of the owner's account. */
const OWNERS_REASONS: ReadonlySet<FaultCode> = new Set([
  'out_of_credit',
  'daily_cap_reached',
  'concurrent_calls_reached',
]);

/** A visitor of a public page. */
interface Visitor {
  readonly origin: string | undefined;
  readonly ip: string;
}

async function createPublicly(
  context: Context,
  client: Visitor,
  agentId: string,
  request: SessionRequest,
): Promise<WebSession> {
  if (typeof request.name === 'string') throw fault('name_not_allowed');
  const forbidden = Object.entries(request.overrides ?? {}).find(
    ([field, value]) => value !== undefined && !PUBLIC_OVERRIDES.has(field),
  );
  if (forbidden) throw fault('override_not_allowed', { field: forbidden[0] });
  const published = await loadPublished(context, agentId);
  if (!published) throw fault('not_found');
  return loggingRefusals(context, { kind: 'public_session', teamId: published.agent.team_id, agentId }, () =>
    createForVisitor(context, client, published, request),
  );
}

async function createForVisitor(
  context: Context,
  client: Visitor,
  { agent, version, share }: PublishedAgent,
  request: SessionRequest,
): Promise<WebSession> {
  requirePublicOrigin(agent, client.origin);
  await countAttempt(context, agent._id, client.ip);
  requireAllowed(agent, request.overrides ?? {});
  requireServing(agent, version);
  const drawn = { caller: request.end_user_id ?? null, sessionId: newId() };
  const called = await versionOfCall(context, { version, share }, drawn);
  try {
    return await createWebSession(context, {
      agent,
      ...called,
      sessionId: drawn.sessionId,
      payer: { userId: agent.user_id },
      source: 'public',
      isPreview: false,
      request,
    });
  } catch (error) {
    if (error instanceof Fault && error.code === 'share_of_workers')
      throw fault('no_capacity', {}, { cause: error });
    // Hide the reason from visitors.
    if (error instanceof Fault && OWNERS_REASONS.has(error.code))
      throw fault('agent_unavailable', {}, { cause: error });
    throw error;
  }
}

/** Counts every attempt that passes the origin check, in both windows. */
async function countAttempt(context: Context, agentId: string, ip: string): Promise<void> {
  const { PUBLIC_RATE_PER_AGENT, PUBLIC_RATE_PER_IP } = context.settings;
  const [byAgent, byIp] = await Promise.all([
    context.coordination.countInWindow(`public-agent:${agentId}`, PUBLIC_RATE_PER_AGENT, RATE_WINDOW_MS),
    context.coordination.countInWindow(`public-ip:${ip}`, PUBLIC_RATE_PER_IP, RATE_WINDOW_MS),
  ]);
  const refused = [byAgent, byIp].find((window) => !window.allowed);
  if (refused) throw fault('rate_limited', { seconds: Math.ceil(refused.resetMs / 1000) });
}

/** Throws `override_not_allowed`. */
function requireAllowed(agent: AgentDocument, overrides: Overrides): void {
  const refused = overrideFields(overrides).find((field) => !agent.overrides_allowed.includes(field));
  if (refused) throw fault('override_not_allowed', { field: refused });
}

/** Throws `agent_not_published` or `agent_archived`. */
function requireServing(
  agent: AgentDocument,
  version: VersionDocument | null,
): asserts version is VersionDocument {
  if (!version) throw fault('agent_not_published');
  if (agent.status === 'archived') throw fault('agent_archived');
}

/** Access requires the session's token; an unknown session and a wrong token get the same response. */
async function authenticateClient(
  context: Context,
  request: FastifyRequest<{ Params: z.output<typeof sessionPath> }>,
  reply: FastifyReply,
): Promise<FastifyReply | undefined> {
  const token = bearerToken(request.headers.authorization);
  if (token === null) {
    sendBare(reply, 401);
    return reply;
  }
  const session = await loadSession(context, request.params.session_id);
  if (!isTokenOf(session?.token_hash, token)) throw fault('invalid_token');
  return undefined;
}

function isJoinable(context: Context, session: SessionDocument): boolean {
  return isLive(session.status) && (session.status !== 'pending' || session.expires_at > now(context));
}
