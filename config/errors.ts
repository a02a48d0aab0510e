/**
 * The table of faults: code → HTTP status, message, machine-readable reason and SIP status. `throw
 * fault('agent_not_published')` is how any code reports a problem to a caller; any other throw is a
 * programming error. Codes, statuses and reasons are part of the API and do not change, nor do the messages
 * that clients rely on; other messages may be reworded.
 */

import type { FaultEntry } from './fault-entry.ts';
import { LEARNING_FAULTS } from './learning-faults.ts';
import { PHONE_FAULTS } from './phone-faults.ts';
import { RECORDED_CALL_FAULTS } from './recorded-call-faults.ts';
import { SHARE_FAULTS } from './share-faults.ts';
import { VOICE_TEST_FAULTS } from './voice-test-faults.ts';

const FAULTS = {
  // 400: semantic problems
  malformed_json: { status: 400, message: 'Malformed JSON' },
  override_not_allowed: { status: 400, message: 'Override not allowed for this agent: {field}' },
  page_and_cursor: { status: 400, message: 'Use either page or cursor, not both' },
  cursor_undecodable: { status: 400, message: 'Cursor cannot be decoded' },
  page_too_deep: { status: 400, message: 'Page offset beyond 100000 rows; use cursor' },
  name_not_allowed: { status: 400, message: 'name is not allowed without an API key' },
  upload_too_large: { status: 400, message: 'The upload is larger than 1 MiB (1,048,576 bytes)' },
  upload_not_text: {
    status: 400,
    message: 'The upload is not UTF-8 plain text (.md or .txt), or it is empty',
  },
  duplicate_client_tool: { status: 400, message: 'Client tool name is used twice on this agent: {name}' },
  bad_request: { status: 400, message: '{detail}' },
  malformed_body: { status: 400, message: 'Malformed {kind}' },
  reference_not_found: { status: 400, message: 'Reference not found' },
  model_unknown: { status: 400, message: 'Unknown model: GET …/models lists the available ones' },
  sdp_unusable: { status: 400, message: 'The SDP offer has no supported audio', sip: 488 },
  // 401
  key_missing: { status: 401, message: 'No API key: send it in the header {header}' },
  invalid_token: { status: 401, message: 'Invalid token' },
  token_expired: { status: 401, message: 'Token expired' },
  // 402
  out_of_credit: { status: 402, message: 'Out of API credit', sip: 503 },
  insufficient_credit: { status: 402, message: 'Out of API credit', reason: 'insufficient_credit', sip: 503 },
  overdrawn: {
    status: 402,
    message: 'Out of API credit: this account has reached its overdraft limit; top it up',
    reason: 'overdrawn',
    sip: 503,
  },
  // 403
  agent_not_public: { status: 403, message: 'Agent is not public' },
  origin_required: { status: 403, message: 'Origin header is required for public agents' },
  origin_not_allowed: { status: 403, message: 'Origin not allowed' },
  agent_unavailable: { status: 403, message: 'Agent is unavailable' },
  beta_required: { status: 403, message: 'Agent platform is in private beta. Apply for access at {url}' },
  number_limit: { status: 403, message: 'Phone number limit reached for this team ({limit})' },
  outbound_disabled: {
    status: 403,
    message: 'Outbound calls are disabled for this account',
    reason: 'outbound_disabled',
  },
  quota_reached: {
    status: 403,
    message:
      'This account has reached its limit of {limit} {what}: delete some, or ask the operator to raise ' +
      '{setting}',
    reason: 'quota_reached',
  },
  versions_reached: {
    status: 403,
    message:
      'This agent has reached its limit of {limit} versions: continue with a new agent, or ask the ' +
      'operator to raise LIMIT_VERSIONS',
    reason: 'quota_reached',
  },
  storage_full: {
    status: 403,
    message:
      'Voices and knowledge of this account would exceed {limit} bytes: delete some{remedy}, or ask the ' +
      'operator to raise {setting}',
    reason: 'storage_full',
  },
  operator_only: { status: 403, message: 'This route needs the operator key' },
  source_refused: {
    status: 403,
    message: 'Calls to this number are not allowed from {address}: {remedy}',
    sip: 403,
  },
  // 404
  not_found: { status: 404, message: 'Not found', sip: 404 },
  recording_not_found: { status: 404, message: 'Recording not found' },
  voice_not_found: { status: 404, message: 'Voice not found: GET /v1/voices lists the available ones' },
  number_not_found: { status: 404, message: 'Phone number not found', reason: 'number_not_found', sip: 404 },
  agent_not_found: { status: 404, message: 'Agent not found', reason: 'agent_not_found' },
  ...PHONE_FAULTS,
  ...SHARE_FAULTS,
  ...VOICE_TEST_FAULTS,
  ...LEARNING_FAULTS,
  // 409
  agent_not_published: { status: 409, message: 'Agent has no published version', sip: 486 },
  call_agent_not_published: {
    status: 409,
    message: 'Agent has no published version',
    reason: 'agent_not_published',
  },
  knowledge_attached: {
    status: 409,
    message:
      'Knowledge source is attached to {count} agent(s): detach it, republish where needed, then delete',
  },
  no_language_model: {
    status: 409,
    message:
      'This deployment has no language model: run `ollama pull llama3.2` beside Parley, or start Parley ' +
      'with OPENAI_API_KEY or another vendor’s key',
    reason: 'no_language_model',
  },
  tool_attached: { status: 409, message: 'Tool is attached to {count} agent(s): detach it, then delete' },
  tool_server_attached: {
    status: 409,
    message: 'Tool server is attached to {count} agent(s): detach it, then delete',
  },
  tool_server_not_listed: {
    status: 409,
    message: 'The tools of {name} have never been read: POST …/tool-servers/{id}/refresh, then publish',
    reason: 'tool_server_not_listed',
  },
  too_many_server_tools: {
    status: 409,
    message:
      'The attached tool servers have {count} permitted tools, and an agent at most {limit}: set their ' +
      'allowed_tools',
    reason: 'too_many_server_tools',
  },
  number_taken: { status: 409, message: 'This number is already on the platform' },
  agent_archived: { status: 409, message: 'Agent is archived', sip: 486 },
  publish_conflict: { status: 409, message: 'The draft changed while it was being published; try again' },
  idempotency_key_conflict: {
    status: 409,
    message: 'The first request with this Idempotency-Key is still in progress',
    reason: 'idempotency_key_conflict',
  },
  session_ended: { status: 409, message: 'Session has ended' },
  call_taken: {
    status: 409,
    message: 'Another colleague has this call: they must hand it back or leave first',
  },
  call_not_takeable: {
    status: 409,
    message: 'The agent cannot leave this call now: it is being transferred or ending; try again',
  },
  call_not_running: { status: 409, message: 'Nobody is connected to this session yet' },
  participants_full: { status: 409, message: 'This call has reached its limit of participants' },
  analysis_not_rerunnable: { status: 409, message: 'Analysis can be run again only from skipped or error' },
  not_replayable: {
    status: 409,
    message: 'The call was recorded by a version of Parley that this one cannot replay',
  },
  top_up_key_reused: { status: 409, message: 'This idempotency_key was used with another amount' },
  text_session_ended: {
    status: 409,
    message:
      'This text session has ended: create one with continue_session_id set to its id to go on with it',
    reason: 'text_session_ended',
  },
  text_turns_waiting: {
    status: 409,
    message: '{limit} messages of this text session wait for an answer: send the next one after an answer',
    reason: 'text_turns_waiting',
  },
  conflict: { status: 409, message: '{detail}' },
  test_call_not_running: { status: 409, message: '{detail}', reason: 'test_call_not_running' },
  // 413
  too_large: { status: 413, message: 'Request body is too large' },
  // 415
  media_type: { status: 415, message: 'Unsupported Content-Type; send {types}' },
  // 422 with a reason
  number_provider_unsupported: {
    status: 422,
    message: 'This number cannot place calls',
    reason: 'number_provider_unsupported',
  },
  number_termination_missing: {
    status: 422,
    message: 'This number has no termination_uri to place calls with',
    reason: 'number_termination_missing',
  },
  number_inactive: { status: 422, message: 'This number is not active', reason: 'number_inactive' },
  destination_invalid: {
    status: 422,
    message: 'to_number is not a valid E.164 number',
    reason: 'destination_invalid',
  },
  destination_not_allowed: {
    status: 422,
    message: 'Calls to this country are not enabled',
    reason: 'destination_not_allowed',
  },
  premium_destination_blocked: {
    status: 422,
    message: 'Premium and service numbers cannot be called',
    reason: 'premium_destination_blocked',
  },
  self_call_blocked: {
    status: 422,
    message: 'Numbers hosted on this platform cannot be called',
    reason: 'self_call_blocked',
  },
  idempotency_key_reuse: {
    status: 422,
    message: 'This Idempotency-Key was used with another request',
    reason: 'idempotency_key_reuse',
  },
  idempotency_key_unsupported: {
    status: 422,
    message: 'This request takes no Idempotency-Key: its answer has a secret, which is shown only once',
    reason: 'idempotency_key_unsupported',
  },
  sip_headers_unsupported: {
    status: 422,
    message: 'sip_headers are available on imported numbers only',
    reason: 'sip_headers_unsupported',
  },
  // 429
  rate_limited: { status: 429, message: 'Too many requests; try again in {seconds} s' },
  daily_cap_reached: {
    status: 429,
    message: 'The daily cap of this {of} is reached: raise daily_cap, or try again after 00:00 UTC',
    sip: 503,
  },
  concurrent_calls_reached: {
    status: 429,
    message:
      'All {limit} concurrent calls of this {of} are in use: try again when one has ended, or raise ' +
      'concurrent_calls',
    sip: 486,
  },
  too_many_at_once: {
    status: 429,
    message:
      'This account has reached its limit of {limit} {what} at once: {remedy}, or try again in {seconds} s',
    reason: 'too_many_at_once',
    sip: 503,
  },
  too_many_bytes_at_once: {
    status: 429,
    message:
      'This account may have at most {limit} bytes of uploads in progress: wait until one has finished, ' +
      'or try again in {seconds} s',
    reason: 'too_many_at_once',
  },
  too_many_bytes_a_second: {
    status: 429,
    message:
      'While others use the service, this account may upload at most {limit} bytes a second: try again in ' +
      '{seconds} s',
    reason: 'too_many_at_once',
  },
  too_many_a_minute: {
    status: 429,
    message: 'This account has reached its limit of {limit} {what} a minute: try again in {seconds} s',
    reason: 'too_many_a_minute',
    sip: 503,
  },
  test_spending_reached: {
    status: 429,
    message:
      'The tests, judged rehearsals and suggestions of this account have reached their daily limit ' +
      'of {limit} dollars for language models: try again after 00:00 UTC',
    reason: 'test_spending_reached',
  },
  share_of_workers: {
    status: 429,
    message:
      'This account uses more worker capacity than any other, and the last tenth is reserved for the ' +
      'others: try again in {seconds} s, or end a call',
    reason: 'share_of_workers',
    sip: 503,
  },
  speech_busy: {
    status: 429,
    message: 'All {limit} concurrent speech requests of this {of} are in use: try again when one has ended',
  },
  // 502, 503
  gateway_unreachable: { status: 502, message: 'Agent gateway is unreachable', sip: 503 },
  provider_unreachable: { status: 502, message: '{provider} is unreachable' },
  provider_silent: {
    status: 502,
    message:
      '{provider} did not answer; the number stays in provisioning until the outcome of the purchase is ' +
      'known',
  },
  tool_server_failed: {
    status: 502,
    message: 'The tool server did not list its tools: {detail}',
    reason: 'tool_server_failed',
  },
  test_call_unanswered: { status: 502, message: '{model} failed: {detail}', reason: 'test_call_unanswered' },
  suggestion_failed: {
    status: 502,
    message: '{model} made no usable suggestion: {detail}',
    reason: 'suggestion_failed',
  },
  text_turn_failed: {
    status: 502,
    message: 'The agent gave no answer: {detail}. Nothing was charged; send the message with a new key',
    reason: 'text_turn_failed',
  },
  provider_refused: { status: 502, message: '{provider} refused the request: {detail}' },
  speech_silent: { status: 502, message: 'The speech engine returned nothing for 5 minutes; try again' },
  no_capacity: {
    status: 503,
    message: 'No agent worker is free; try again shortly',
    sip: 503,
    retrySeconds: 10,
  },
  draining: {
    status: 503,
    message: 'The service is shutting down; try again shortly',
    sip: 503,
    retrySeconds: 10,
  },
  database_unavailable: {
    status: 503,
    message: 'The database is temporarily unavailable; try again shortly',
    sip: 503,
    retrySeconds: 5,
  },
  speech_unavailable: { status: 503, message: '{detail}' },
  media_relay_unreachable: { status: 503, message: 'The media relay does not answer', sip: 503 },
  no_media_port: { status: 503, message: 'No media port is free', sip: 503 },
  callback_not_genuine: {
    status: 403,
    message: 'The signature does not match this deployment’s carrier account and address',
  },
  call_lost_at_carrier: {
    status: 502,
    message: '{provider} could not deliver the call to this deployment’s SIP address',
    sip: 503,
  },
  ...RECORDED_CALL_FAULTS,
  // SIP only
  digest_refused: { status: 403, message: 'The SIP digest credentials are wrong for this number', sip: 407 },
  number_unbound: { status: 409, message: 'No agent answers this number', sip: 486 },
  no_common_codec: { status: 422, message: 'No codec in common', sip: 488 },
  internal: { status: 500, message: 'Internal error', sip: 500 },
} as const satisfies Record<string, FaultEntry>;

/** Code of a fault. */
export type FaultCode = keyof typeof FAULTS;

/** A problem reported to a caller. */
export class Fault extends Error {
  readonly code: FaultCode;
  readonly status: number;
  readonly reason: string | null;
  /** SIP status for refusing an INVITE (RFC 3261 §21). */
  readonly sipStatus: number;
  /** When a retry may succeed, s; the `Retry-After` of the answer. */
  readonly retryAfterSeconds: number | null;

  constructor(
    code: FaultCode,
    message: string,
    options: { cause?: unknown; retryAfterSeconds?: number } = {},
  ) {
    const entry: FaultEntry = FAULTS[code];
    const { stackTraceLimit } = Error;
    // Without a stack trace: collecting it is most of a refusal's cost, and the log prints it only for faults
    // of our own.
    if (entry.status < 500) Error.stackTraceLimit = 0;
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'Fault';
    this.code = code;
    this.status = entry.status;
    this.reason = entry.reason ?? null;
    this.sipStatus = entry.sip ?? 500;
    this.retryAfterSeconds = options.retryAfterSeconds ?? entry.retrySeconds ?? null;
  }
}

/**
 * Creates the fault of this code; `params` fill the placeholders of its message, and `seconds` is when to
 * retry.
 */
export function fault(
  code: FaultCode,
  params: Readonly<Record<string, string | number>> = {},
  options?: { cause?: unknown },
): Fault {
  const message = FAULTS[code].message.replace(/\{(\w+)\}/g, (_, name: string) => String(params[name] ?? ''));
  return new Fault(code, message, {
    ...options,
    ...(typeof params['seconds'] === 'number' && { retryAfterSeconds: params['seconds'] }),
  });
}

/** All faults, for docs/errors.md and its test. */
export function listFaults(): readonly ({ readonly code: FaultCode } & FaultEntry)[] {
  return (Object.keys(FAULTS) as FaultCode[]).map((code) => ({ code, ...FAULTS[code] }));
}
