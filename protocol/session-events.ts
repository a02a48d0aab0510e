/**
 * Messages between an agent and a web client, on LiveKit data topics or the direct connection's `events`
 * channel. Malformed messages and unknown types are ignored in both directions; changes only add.
 */
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';

export const agentState = z.enum(['initializing', 'idle', 'listening', 'thinking', 'speaking']);
export type AgentState = z.infer<typeof agentState>;

/**
 * What a colleague does in a call: listens to caller and agent, or talks with the caller while the agent is
 * silent.
 */
export const participantMode = z.enum(['listen', 'take_over']);
export type ParticipantMode = z.infer<typeof participantMode>;

/** Agent → client. */
export type AgentEvent =
  | {
      readonly type: 'transcript';
      readonly role: 'user' | 'agent';
      readonly segmentId: string;
      readonly text: string;
      readonly final: boolean;
    }
  | { readonly type: 'state'; readonly state: AgentState }
  | {
      readonly type: 'client_tool.call';
      readonly callId: string;
      readonly toolName: string;
      readonly params: Readonly<Record<string, unknown>>;
      readonly expectsResponse: boolean;
    }
  | {
      readonly type: 'tool.started';
      readonly callId: string;
      readonly toolName: string;
      readonly toolSource: string;
      readonly input: string;
      readonly inputTruncated?: true;
    }
  | {
      readonly type: 'tool.completed';
      readonly callId: string;
      readonly toolName: string;
      readonly toolSource: string;
      readonly output: string;
      readonly outputTruncated?: true;
    }
  | {
      readonly type: 'tool.failed';
      readonly callId: string;
      readonly toolName: string;
      readonly toolSource: string;
      readonly error: string;
    }
  | { readonly type: 'error'; readonly code: 'provider_error' | 'internal_error' }
  /** To a colleague in the call: whether they only listen, or speak in the agent's place. */
  | { readonly type: 'participant.mode'; readonly mode: ParticipantMode }
  /** Another worker has the session: connect to it, with the same token. Sent on direct connections. */
  | { readonly type: 'session.moved' }
  | { readonly type: 'session.ended'; readonly reason: string };

const clientEvent = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('user.message'),
    text: z.string().min(1).max(20_000),
    audio: z.boolean().optional(),
  }),
  z.object({ type: z.literal('user.activity') }),
  z.object({ type: z.literal('user.interrupt') }),
  z.object({ type: z.literal('user.hangup') }),
  z.object({
    type: z.literal('client_tool.result'),
    callId: z.string().max(128),
    result: z.unknown().optional(),
    isError: z.boolean().optional(),
  }),
]);

/** Client → agent. */
export type ClientEvent = z.infer<typeof clientEvent>;

/** Parses a message of a client; null if it is malformed or unknown. */
export function parseClientEvent(text: string): ClientEvent | null {
  return parseJson(clientEvent, text);
}
