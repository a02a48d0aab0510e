/**
 * `CallPlan`: everything a worker needs for one call, frozen at admission. A worker has no database and no
 * other secrets. It has its own version number; a control plane serves workers one version older.
 */
import { z } from 'zod';
import { agentConfig, variables } from '#config/agent-config.ts';
import { automatedLinesSection } from '#config/automated-lines.ts';
import { plannedRecognizer, plannedVoice } from '#config/custom-speech.ts';
import { localModel } from '#config/local-models.ts';
import { streamVendor } from './media-streams.ts';
import { serverTool } from './server-tools.ts';

export const CALL_PLAN_VERSION = 1;

/** A tool as frozen at publication, with its credential headers. */
export const plannedTool = z.object({
  tool_id: z.string(),
  /** Function name for the model. */
  function_name: z.string(),
  name: z.string(),
  description: z.string(),
  tool_type: z.enum(['webhook', 'client']),
  arguments: z.array(z.object({ name: z.string(), description: z.string() })),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  url: z.string(),
  content_type: z.string(),
  body_template: z.string(),
  headers: z.array(z.object({ name: z.string(), value: z.string() })),
  timeout_seconds: z.number(),
  error_handling: z.enum(['passthrough', 'hide']),
  expects_response: z.boolean(),
  execution_mode: z.enum(['blocking', 'fire_and_forget', 'background']),
});
export type PlannedTool = z.infer<typeof plannedTool>;

/** An MCP server as frozen at publication, with its credentials and the tools that were permitted then. */
export const plannedToolServer = z.object({
  tool_server_id: z.string(),
  name: z.string(),
  url: z.string(),
  headers: plannedTool.shape.headers,
  oauth: z
    .object({ issuer: z.string(), client_id: z.string(), client_secret: z.string(), scope: z.string() })
    .nullable(),
  timeout_seconds: z.number(),
  tools: z.array(
    serverTool.extend({
      /** Function name for the model. */
      function_name: z.string(),
      execution_mode: z.enum(['blocking', 'background']),
    }),
  ),
});
export type PlannedToolServer = z.infer<typeof plannedToolServer>;

/** How a caller reaches the agent by voice. */
export const callChannel = z.enum(['phone_inbound', 'phone_outbound', 'web_voice']);
export type CallChannel = z.output<typeof callChannel>;

/** `system.*` variables, without their prefix. */
export const systemVariables = z.object({
  /** `chat` and `sms`: a text session. */
  channel: z.enum([...callChannel.options, 'chat', 'sms']),
  timezone: z.string(),
  today: z.string(),
  language: z.string(),
  caller_number: z.string(),
  dialed_number: z.string(),
  caller_number_spoken: z.string(),
});
export type SystemVariables = z.infer<typeof systemVariables>;

/**
 * Set if a tenant has named the host. The worker then applies the egress guard and refuses the operator's
 * trunk: `trunk` is `SIP_TRUNK_URI`, `trusted` is `SIP_TRUSTED`.
 */
const hostGuard = z
  .object({ trunk: z.string(), trusted: z.array(z.string()).default([]) })
  .nullable()
  .default(null);

/**
 * Calls go out under an account at a PBX, as that account writes its own requests, or from a domain that the
 * carrier knows.
 */
const dialLine = z.object({
  /** The account: `from_user@from_host` is its address. */
  from_user: z.string(),
  from_host: z.string(),
  /** Host and port of our Contact as the PBX knows it; null: signalling's own. */
  contact_place: z.string().nullable(),
  /** SIP URI of the outbound proxy; null: the URI that is called decides. */
  next_hop: z.string().nullable(),
  /** Service-Route of the registration (RFC 3608). */
  routes: z.array(z.string()),
  /** Name of the SIP server that is registered, whose address the PBX knows; null: any. */
  server: z.string().nullable(),
});

/** How to reach one transfer destination. */
export const transferRoute = z.object({
  /** E.164; null for a SIP URI. */
  number: z.string().nullable(),
  /** URI to call, through the trunk for a number; empty if calls cannot be placed. */
  dial_uri: z.string(),
  guard: hostGuard,
  /** False: the carrier of this call must not be asked to transfer there; the worker dials instead. */
  is_referable: z.boolean().default(true),
  headers: z.record(z.string(), z.string()),
  username: z.string().nullable(),
  password: z.string().nullable(),
  /** Absent unless the call goes out under a registration or from a domain. */
  line: dialLine.optional(),
  /** Keys that are pressed after the answer (config/telephone-keys.ts); absent without any. */
  extension: z.string().optional(),
  /** The phones with this extension are looked for and rung; absent for other destinations. */
  phone_extension: z.string().optional(),
  /** Reason for the model why a transfer there is impossible; null if it is possible. */
  error: z.string().nullable(),
});
export type TransferRoute = z.infer<typeof transferRoute>;
export type PlannedLine = z.output<typeof dialLine>;

export const callPlan = z.object({
  version: z.literal(CALL_PLAN_VERSION),
  session_id: z.string(),
  agent_id: z.string(),
  agent_name: z.string(),
  channel: callChannel,
  /** Overrides are applied; placeholders are not yet filled (a keypad menu may still set a variable). */
  config: agentConfig,
  /** Values from the request or the init webhook, merged over the agent's defaults. */
  variables,
  system_variables: systemVariables,
  /** An overridden first message is spoken verbatim in any mode. */
  first_message_override: z.string().nullable(),
  tools: z.array(plannedTool),
  tool_servers: z.array(plannedToolServer).default([]),
  knowledge: z.array(z.object({ knowledge_source_id: z.string(), name: z.string(), content: z.string() })),
  /** The earlier conversation of caller and agent in writing; absent without any. */
  earlier_texts: z.string().optional(),
  llm_api_key: z.string().nullable(),
  /** Engines on the owner's servers. Not in `config`, whose unknown sections an older worker refuses. */
  custom_speech: z.object({ asr: plannedRecognizer.optional(), tts: plannedVoice.optional() }).optional(),
  /** The model says what its questions expect; absent if not. Not in `config`, for the same reason. */
  answer_hints: z.boolean().optional(),
  /** The agent may press keys; absent if not. Not in `config`, for the same reason. */
  press_keys: z.object({ hide_keys: z.boolean() }).optional(),
  /** How automated lines are met; absent if they are not, and for calls in. Not in `config`, either. */
  automated_lines: automatedLinesSection.optional(),
  /** Where `local/<name>` models answer. */
  local_models: z.array(localModel).default([]),
  llm_extra_body: z.record(z.string(), z.unknown()).nullable(),
  end_user_id: z.string().nullable(),
  record_audio: z.boolean(),
  tool_events: z.boolean(),
  world_context: z.boolean(),
  max_duration_seconds: z.number(),
  is_preview: z.boolean(),
  /** Parent of the call's spans (W3C Trace Context); null without tracing. */
  traceparent: z.string().nullable().default(null),
  /**
   * How the caller can be transferred to a person; null if impossible: web calls, agents without
   * destinations.
   */
  transfer: z
    .object({
      /** The control plane is asked before each transfer (protocol/transfer-permission.ts). */
      is_counted: z.boolean().default(false),
      /** Caller id shown to the callee. */
      from_number: z.string(),
      /** In the order of `conversation.transfer_destinations`. */
      routes: z.array(transferRoute),
    })
    .nullable()
    .default(null),
  /** What an unsolicited call owes the callee (docs/batch-calls.md); null for every other call. */
  outreach: z
    .object({
      /** Said before anything else; placeholders are not yet filled; may be empty. */
      disclosure: z.string(),
      opt_out: z
        .object({ key: z.string().nullable(), phrases: z.array(z.string()), confirmation: z.string() })
        .nullable(),
    })
    .nullable()
    .default(null),
  transport: z.discriminatedUnion('type', [
    /** The browser's offer follows as a `webrtc.offer` command. */
    z.object({ type: z.literal('webrtc') }),
    /** The worker joins the room at once, with its own token. */
    z.object({ type: z.literal('livekit'), url: z.string(), token: z.string(), caller_identity: z.string() }),
    /** The worker joins the stream of the session at the control plane. */
    z.object({
      type: z.literal('media_stream'),
      vendor: streamVendor,
      from_number: z.string(),
      to_number: z.string(),
    }),
    z.object({
      type: z.literal('sip_inbound'),
      sip_call_id: z.string(),
      from_number: z.string(),
      to_number: z.string(),
      /** The call came through a tenant's own trunk: the destination of its audio passes the egress guard. */
      is_tenants: z.boolean().default(false),
    }),
    z.object({
      type: z.literal('sip_outbound'),
      to_uri: z.string(),
      guard: hostGuard,
      from_number: z.string(),
      to_number: z.string(),
      headers: z.record(z.string(), z.string()),
      username: z.string().nullable(),
      password: z.string().nullable(),
      /** Absent unless the call goes out under a registration or from a domain. */
      line: dialLine.optional(),
      /** Keys that are pressed after the answer (config/telephone-keys.ts); absent without any. */
      extension: z.string().optional(),
      ring_seconds: z.number(),
    }),
  ]),
});
export type CallPlan = z.output<typeof callPlan>;
