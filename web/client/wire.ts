/**
 * Data exchanged between the browser and Parley: the session request, its response, and the messages of the
 * data channel. Malformed and unknown messages are ignored.
 */
import type { AgentEvent, ClientEvent } from '../../protocol/session-events.ts';
import { SessionError } from './events.ts';

/**
 * Agent settings that one conversation overrides. Without a key only `voiceId` and `language`, if the agent
 * allows them.
 */
export interface Overrides {
  firstMessage?: string;
  firstMessagePrompt?: string;
  systemPrompt?: string;
  voiceId?: string;
  language?: string;
}

/** Fields of `POST /v1/agent/sessions` that a page may set. */
export interface SessionRequest {
  agentId: string;
  dynamicVariables?: Record<string, string | number | boolean>;
  overrides?: Overrides;
  /** Short for `overrides.language`. */
  language?: string;
  /** Your own id of the user, echoed in webhooks. */
  endUserId?: string;
  metadata?: Record<string, unknown>;
  toolEvents?: boolean;
  timezone?: string;
  worldContext?: boolean;
}

/** A server that has not responded within this time counts as unreachable, ms. */
const ANSWER_MS = 15_000;

interface AnyGrant {
  session_id: string;
  token: string;
  /** Join deadline; a colleague's grant has none. */
  expires_at?: string;
}

/** Grant for a direct connection. */
export interface DirectGrant extends AnyGrant {
  transport: 'webrtc';
  webrtc_url: string;
  /** STUN and TURN servers for reaching this server. */
  ice_servers?: RTCIceServer[];
}

/** Grant for a LiveKit room. */
export interface RoomGrant extends AnyGrant {
  transport: 'livekit';
  livekit_url: string;
}

/** Response to a session request: where to connect, the token and its deadline. */
export type SessionGrant = DirectGrant | RoomGrant;

/** Creates a session without an API key (public agents). Throws `SessionError`. */
export async function requestSession(serverUrl: string, request: SessionRequest): Promise<SessionGrant> {
  const body = {
    agent_id: request.agentId,
    dynamic_variables: request.dynamicVariables,
    overrides: overridesOf(request),
    end_user_id: request.endUserId,
    metadata: request.metadata,
    tool_events: request.toolEvents,
    timezone: request.timezone,
    client_timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    world_context: request.worldContext,
  };
  const response = await post(`${serverUrl}/v1/agent/sessions`, JSON.stringify(body), null);
  if (!response.ok) throw await refusal(response);
  return (await response.json()) as SessionGrant;
}

function overridesOf({
  overrides = {},
  language = overrides.language,
}: SessionRequest): Record<string, string | undefined> | undefined {
  const { firstMessage, firstMessagePrompt, systemPrompt, voiceId } = overrides;
  const given = {
    first_message: firstMessage,
    first_message_prompt: firstMessagePrompt,
    system_prompt: systemPrompt,
    voice_id: voiceId,
    language,
  };
  return Object.values(given).some((value) => value !== undefined) ? given : undefined;
}

/** Sends the browser's offer and returns the agent's answer. Throws `SessionError`. */
export async function exchangeOffer(grant: DirectGrant, sdp: string): Promise<RTCSessionDescriptionInit> {
  const response = await post(grant.webrtc_url, JSON.stringify({ sdp, type: 'offer' }), grant.token);
  if (response.status === 401 || response.status === 409)
    throw new SessionError(
      'session_expired',
      'The session has ended or its token is no longer valid',
      response.status,
    );
  if (!response.ok) throw await refusal(response);
  return (await response.json()) as RTCSessionDescriptionInit;
}

/** Parses a message of the data channel; null for anything else. */
export function parseAgentEvent(data: unknown): AgentEvent | null {
  if (typeof data !== 'string') return null;
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
      ? (value as AgentEvent)
      : null;
  } catch {
    return null;
  }
}

/** Serialises a message to the agent. */
export function formatClientEvent(event: ClientEvent): string {
  return JSON.stringify(event);
}

async function post(url: string, body: string, token: string | null): Promise<Response> {
  try {
    return await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      body,
      credentials: 'omit',
      signal: AbortSignal.timeout(ANSWER_MS),
    });
  } catch {
    throw new SessionError('connection_failed', 'The server cannot be reached');
  }
}

async function refusal(response: Response): Promise<SessionError> {
  const problem = (await response.json().catch(() => null)) as { message?: string } | null;
  const message = problem?.message ?? `The server answered ${response.status}`;
  if (response.status === 403 && message === 'Agent is not public')
    return new SessionError('agent_not_public', message, 403);
  if (response.status === 403 && message.includes('Origin'))
    return new SessionError('origin_forbidden', message, 403);
  return new SessionError('session_request_failed', message, response.status);
}
