/** What travels between the browser and Parley: the session request, its answer, and the messages of the data channel. Malformed and unknown messages are ignored. */
import type { AgentEvent, ClientEvent } from '../../config/session-events.ts';
import { SessionError } from './events.ts';

/** Fields of `POST /v1/agent/sessions` a page may set. */
export interface SessionRequest {
  agentId: string;
  dynamicVariables?: Record<string, string | number | boolean>;
  overrides?: Record<string, string>;
  endUserId?: string;
  metadata?: Record<string, unknown>;
  toolEvents?: boolean;
  timezone?: string;
  worldContext?: boolean;
}

interface AnyGrant {
  session_id: string;
  token: string;
  expires_at: string;
}

/** Where to connect directly. */
export interface DirectGrant extends AnyGrant {
  transport: 'webrtc';
  webrtc_url: string;
  /** STUN and TURN servers this server wants to be reached by. */
  ice_servers?: RTCIceServer[];
}

/** Which LiveKit room to join. */
export interface RoomGrant extends AnyGrant {
  transport: 'livekit';
  livekit_url: string;
}

/** The answer: where to connect, with which token, until when. */
export type SessionGrant = DirectGrant | RoomGrant;

/** Creates a session without a key (public agents). Throws `SessionError`. */
export async function requestSession(serverUrl: string, request: SessionRequest): Promise<SessionGrant> {
  const body = {
    agent_id: request.agentId,
    dynamic_variables: request.dynamicVariables,
    overrides: request.overrides,
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

/** Sends the browser's offer and returns the agent's answer. Throws `SessionError`. */
export async function exchangeOffer(grant: DirectGrant, sdp: string): Promise<RTCSessionDescriptionInit> {
  const response = await post(grant.webrtc_url, JSON.stringify({ sdp, type: 'offer' }), grant.token);
  if (response.status === 401 || response.status === 409)
    throw new SessionError('session_expired', 'The session has ended or its token is no longer valid', response.status);
  if (!response.ok) throw await refusal(response);
  return (await response.json()) as RTCSessionDescriptionInit;
}

/** Reads one message of the data channel; null for anything else. */
export function parseAgentEvent(data: unknown): AgentEvent | null {
  if (typeof data !== 'string') return null;
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string' ? (value as AgentEvent) : null;
  } catch {
    return null;
  }
}

/** Writes one message for the agent. */
export function formatClientEvent(event: ClientEvent): string {
  return JSON.stringify(event);
}

async function post(url: string, body: string, token: string | null): Promise<Response> {
  try {
    return await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
      body,
      credentials: 'omit',
    });
  } catch {
    throw new SessionError('connection_failed', 'The server cannot be reached');
  }
}

async function refusal(response: Response): Promise<SessionError> {
  const problem = (await response.json().catch(() => null)) as { message?: string } | null;
  const message = problem?.message ?? `The server answered ${response.status}`;
  if (response.status === 403 && message === 'Agent is not public') return new SessionError('agent_not_public', message, 403);
  if (response.status === 403 && message.includes('Origin')) return new SessionError('origin_forbidden', message, 403);
  return new SessionError('session_request_failed', message, response.status);
}
