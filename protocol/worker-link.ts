/**
 * The worker link: messages on the authenticated WebSocket between a worker and the control plane (`GET
 * /internal/worker-link`, `Authorization: Bearer <WORKER_TOKEN>`), one JSON object per frame. Jobs are
 * offered and accepted. Every assignment has an epoch that every report carries and the store checks, so a
 * late worker can change nothing. Durable reports have a per-session sequence number and stay in the worker's
 * spool until acknowledged; live reports may be dropped.
 */
import { z } from 'zod';
import { variables } from '#config/agent-config.ts';
import { agentTestJob, agentTestResult } from './agent-test.ts';
import { analysisJob } from './analysis-job.ts';
import { stretches } from './call-chain.ts';
import { callPlan } from './call-plan.ts';
import { MODEL_REQUESTS } from './model-requests.ts';
import { participantChange, participantConnection } from './participants.ts';
import { RUN_AGAIN_REQUESTS } from './run-again.ts';
import { participantMode } from './session-events.ts';
import {
  analysisResult,
  dialStatus,
  endReason,
  mediaQuality,
  sessionItem,
  sessionLine,
  speechOverlap,
  turnLatency,
  turnSilence,
} from './session-record.ts';
import { sendSip } from './sip-request.ts';
import { textTurnJob, textTurnResult } from './text-turn.ts';
import { workerAbilities } from './worker-abilities.ts';

export const WORKER_LINK_VERSION = 1;
/** Interval of a worker's heartbeats, ms. */
export const HEARTBEAT_MS = 1_000;

const ms = z.number();
/** Kinds of jobs. */
export const jobKind = z.enum(['phone', 'web', 'analysis', 'agent_test', 'text_turn']);
export type JobKind = z.infer<typeof jobKind>;
const sessionEpoch = { session_id: z.string(), epoch: z.number().int() };
const offered = { ...sessionEpoch, kind: jobKind, sip_call_id: z.string().nullable() };

/** An answered SIP dialog (RFC 3261 §12): enough for another worker to continue the call. */
const sipDialog = {
  sip_call_id: z.string(),
  local_tag: z.string(),
  remote_tag: z.string(),
  /**
   * From and To as this side writes them, with their tags. Empty from workers one version older, whose calls
   * cannot fail over.
   */
  local_party: z.string().default(''),
  remote_party: z.string().default(''),
  route_set: z.array(z.string()),
  /** CSeq of the last INVITE this side sent; 0 if none. */
  local_cseq: z.number().int(),
  remote_target: z.string(),
  local_contact: z.string(),
  local_sdp: z.string(),
  remote_sdp: z.string(),
  /** Name of the SIP server that has the dialog; absent from older versions. */
  server: z.string().optional(),
};
export const reportedDialog = z.object(sipDialog);
export type ReportedDialog = z.output<typeof reportedDialog>;

/** A person who answered a transfer: being asked, or joined with the caller. */
export const reportedPerson = z.object({ dialog: reportedDialog, is_joined: z.boolean() });
export type ReportedPerson = z.output<typeof reportedPerson>;

/** Ids of the engines and of the model that the call used in a turn, such as `deepgram:nova-3`. */
const turnEngines = z.object({
  recognition: z.string().nullable(),
  model: z.string(),
  synthesis: z.string(),
});
export type TurnEngines = z.output<typeof turnEngines>;

/** A worker's part in a session: it runs it under this epoch. */
export const formerWorker = z.object({ instance_id: z.string(), epoch: z.number().int() });
export type FormerWorker = z.output<typeof formerWorker>;

/**
 * The rest of a stream of RTP packets (RFC 3550 §5.1), for the worker that goes on with it: the numbers of
 * the first packet that the former worker does not send any more.
 */
export const restOfStream = z.object({
  ssrc: z.number().int(),
  /** In the RTCP reports of the source, at most 255 bytes. */
  cname: z.string().max(255),
  sequence: z.number().int(),
  timestamp: z.number().int(),
  /** Of the timestamps, Hz. */
  clock_hz: z.number().int(),
  /** Sent so far, for sender reports. */
  packets: z.number().int(),
  bytes: z.number().int(),
  /** That packet is due so long after the answer was sent. */
  due_in_ms: ms,
});
export type RestOfStream = z.output<typeof restOfStream>;

/** A fact about a session that must not be lost. */
export const durableReport = z.discriminatedUnion('type', [
  /** The participant hears the agent; the session is active from `at`. Sent again after a takeover. */
  z.object({ type: z.literal('joined'), at: z.iso.datetime() }),
  z.object({ type: z.literal('dialog'), ...sipDialog }),
  /** The person of a transfer; null once they have left. */
  z.object({ type: z.literal('person'), person: reportedPerson.nullable() }),
  /** Outcome of an outbound dial, and the Call-ID if answered: an answered call is active from `at`. */
  z.object({
    type: z.literal('dial'),
    dial_status: dialStatus,
    at: z.iso.datetime(),
    sip_call_id: z.string().nullable(),
    /** Why nothing was answered, if more is known than the status says. */
    error: z.string().max(500).optional(),
  }),
  z.object({ type: z.literal('items'), items: z.array(sessionItem), stretches: stretches.optional() }),
  /** The callee wants no more calls. */
  z.object({ type: z.literal('opt_out'), by: z.enum(['voice', 'key']) }),
  /** `engines`: absent from workers of older versions. */
  z.object({ type: z.literal('turn'), latency: turnLatency, engines: turnEngines.optional() }),
  z.object({ type: z.literal('silence'), silence: turnSilence }),
  z.object({ type: z.literal('overlap'), overlap: speechOverlap }),
  /** Only of calls of agents with `automated_lines`. */
  z.object({ type: z.literal('line'), line: sessionLine }),
  z.object({
    type: z.literal('usage'),
    /** Absent from workers one version older. */
    turn_id: z.number().int().nullable().default(null),
    model: z.string(),
    input_tokens: z.number().nullable(),
    /** Part of `input_tokens` read from the vendor's prompt cache. */
    cached_input_tokens: z.number().nullable().default(null),
    output_tokens: z.number().nullable(),
    discarded_output_tokens: z.number(),
  }),
  z.object({
    type: z.literal('recording'),
    tracks: z.array(
      z.object({
        role: z.enum(['agent', 'user', 'human']),
        segments: z.number().int(),
        rate_hz: z.number().int(),
        started_at: z.iso.datetime(),
        duration_ms: ms,
      }),
    ),
  }),
  /** Media statistics of a phone call, once its leg has closed. */
  z.object({ type: z.literal('media'), quality: mediaQuality }),
  /** Always the last report of a call. If `joined` is absent it never connected (`never_connected`). */
  z.object({ type: z.literal('ended'), at: z.iso.datetime(), end_reason: endReason }),
  /** Result of an analysis job. */
  z.object({ type: z.literal('analysis'), job_id: z.string(), result: analysisResult }),
  /** Of an agent test, whose run's id is that of the session; its list price, absent from older versions. */
  z.object({
    type: z.literal('agent_test'),
    result: agentTestResult,
    cost_micros: z.number().int().nonnegative().optional(),
  }),
  /** Result of a turn of a text session; the turn's id takes the place of the session's. */
  z.object({ type: z.literal('text_turn'), result: textTurnResult }),
]);
export type DurableReport = z.infer<typeof durableReport>;

/** A report as sent and as stored in the spool: `seq` counts from 1 per session and epoch. */
export const reportEnvelope = z.object({
  ...sessionEpoch,
  seq: z.number().int().min(1),
  report: durableReport,
});
export type ReportEnvelope = z.infer<typeof reportEnvelope>;

/** A worker's answer to a request. */
export const workerAnswer = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), value: z.unknown() }),
  z.object({ ok: z.literal(false), code: z.string(), message: z.string() }),
]);
export type WorkerAnswer = z.output<typeof workerAnswer>;

/**
 * State that a worker reports when it registers and with each heartbeat. Workers of older versions do not
 * report it.
 */
const workerState = {
  /** Names of the SIP servers it is connected to, as in its settings. */
  sip_servers: z.array(z.string()).optional(),
  /** Whether everything is loaded that its web calls need; false, too, if that is impossible. */
  web_ready: z.boolean().optional(),
};

/** Worker → control plane. */
export const workerMessage = z.discriminatedUnion('type', [
  /**
   * Always first. `instance_id` is new for every process; `supervisor_run` identifies the supervisor that
   * started it, if any.
   */
  z.object({
    type: z.literal('register'),
    link_version: z.number().int(),
    instance_id: z.string(),
    supervisor_run: z.string().nullable(),
    capacity: z.number().int(),
    codecs: z.array(z.string()),
    /** Signalling tag for INVITEs to this worker; null if it takes no phone calls. */
    sip_tag: z.string().nullable(),
    /** Accepted kinds of jobs. */
    kinds: z.array(jobKind),
    /** Sessions still running after a lost link. */
    sessions: z.array(z.object(sessionEpoch)),
    /** Instances whose spool this worker has and will send next; `spool.flushed` follows. */
    spools_of: z.array(z.string()),
    /** The worker's clock at the time of sending, Unix ms. Workers of older versions do not send it. */
    wall_time: ms.optional(),
    /** The worker waits for `sessions_checked`. */
    awaits_check: z.literal(true).optional(),
    ...workerState,
    ...workerAbilities,
  }),
  z.object({
    type: z.literal('spool.flushed'),
    instance_id: z.string(),
    /** When the worker that left the spool was last alive. Workers of older versions do not send it. */
    alive_at: z.iso.datetime().optional(),
  }),
  z.object({
    type: z.literal('heartbeat'),
    calls: z.number().int(),
    free_slots: z.number().int(),
    loop_lag_p95_ms: ms,
    ...workerState,
  }),
  z.object({ type: z.literal('accept'), ...sessionEpoch }),
  z.object({
    type: z.literal('decline'),
    ...sessionEpoch,
    reason: z.enum(['full', 'draining', 'unsupported']),
  }),
  z.object({ type: z.literal('report'), envelope: reportEnvelope }),
  /**
   * The worker drains: another one may take the call, and `stale` says that one has. Without it the worker
   * asks again. `variables` as the call has set them. `is_mid_turn`: the drain ends before the call had a
   * pause, so it continues like one whose worker died.
   */
  z.object({
    type: z.literal('hand_over'),
    ...sessionEpoch,
    variables,
    is_mid_turn: z.literal(true).optional(),
    /** It can wait for a worker that is ready for it; when the drain is about to end, any one will do. */
    can_wait: z.literal(true).optional(),
    /** The worker answers when it has left the call. Workers of older versions do not. */
    confirms_leaving: z.literal(true).optional(),
    /** It can give up the stream that it sends to a phone. */
    gives_stream: z.literal(true).optional(),
  }),
  /**
   * The worker is about to send in a call that another one, still sending, has handed over: `stream` answers
   * with the rest of its stream. Sent only to a control plane that has named the former worker.
   */
  z.object({ type: z.literal('take_stream'), ...sessionEpoch, former: formerWorker }),
  /** May be dropped. */
  z.object({ type: z.literal('live'), ...sessionEpoch, event: z.record(z.string(), z.unknown()) }),
  /** Answer to a command that carries a `request_id`. */
  z.object({
    type: z.literal('answer'),
    request_id: z.string(),
    result: workerAnswer,
  }),
]);
export type WorkerMessage = z.infer<typeof workerMessage>;

/** State of a call for the worker that continues it after a failover. */
export const failoverState = z.object({
  /** The timeline so far, including the heard part of an interrupted reply. */
  items: z.array(sessionItem),
  /** The agent was speaking, or about to, when its worker died. */
  was_cut_off: z.boolean(),
  /** Duration of the call so far. */
  elapsed_ms: ms,
  /** Last time the lost worker was seen with this call; used as the end time if nobody returns. */
  lost_at: z.iso.datetime(),
  /** The answered dialog of a phone call; null for web calls, whose clients reconnect by themselves. */
  dialog: reportedDialog.nullable(),
  /** The person of a transfer in progress, or of a completed joined one; null if there is none. */
  person: reportedPerson.nullable().default(null),
  /** The other worker handed the call over between two turns: the caller notices nothing. */
  is_handed_over: z.literal(true).optional(),
  /** The lost worker had heard nothing of the caller. */
  is_unheard: z.literal(true).optional(),
  /** The worker that handed the call over, if it sends silence until `take_stream`. */
  former: formerWorker.optional(),
});
export type FailoverState = z.output<typeof failoverState>;
/** The peer's leg of a phone call. */
export type PhoneFailoverState = FailoverState & { readonly dialog: ReportedDialog };

/** Control plane → worker. */
export const controlMessage = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('registered'),
    link_version: z.number().int(),
    /** `sessions_checked` follows if the worker awaits it; earlier control planes do not send it. */
    checks_sessions: z.boolean().optional(),
    /** Web calls are in the rooms of a LiveKit server. */
    has_rooms: z.literal(true).optional(),
  }),
  /**
   * Reserve a slot and answer `accept` or `decline` within 500 ms. `sip_call_id` lets the worker match the
   * INVITE that will follow; a phone call over a media stream has none and needs no SIP server.
   */
  z.object({ type: z.literal('offer'), ...offered, is_media_stream: z.literal(true).optional() }),
  /**
   * The plan of an accepted offer. For an inbound phone call it may arrive seconds after the INVITE (init
   * webhook).
   */
  z.object({
    type: z.literal('assign'),
    ...sessionEpoch,
    plan: callPlan,
    /** The name is from before failover had its word: control plane and workers are not upgraded at once. */
    handover: failoverState.nullable().default(null),
  }),
  z.object({ type: z.literal('assign_analysis'), ...sessionEpoch, job: analysisJob }),
  z.object({ type: z.literal('assign_agent_test'), ...sessionEpoch, job: agentTestJob }),
  z.object({ type: z.literal('assign_text_turn'), ...sessionEpoch, job: textTurnJob }),
  /** The accepted job will not come; free the slot. */
  z.object({ type: z.literal('withdraw'), ...sessionEpoch }),
  /** Everything up to and including `seq` is stored. */
  z.object({ type: z.literal('ack'), ...sessionEpoch, seq: z.number().int() }),
  /** Reports are missing: send again from `seq`. */
  z.object({ type: z.literal('resend'), ...sessionEpoch, from_seq: z.number().int() }),
  /**
   * The epoch has ended: drop the call and its reports. `is_taken`: another worker has the session, so nobody
   * may be hung up on. With a `request_id` it is answered with `{}` once the call is left. `takes_stream`:
   * `release_stream` will follow.
   */
  z.object({
    type: z.literal('stale'),
    ...sessionEpoch,
    is_taken: z.literal(true).optional(),
    takes_stream: z.literal(true).optional(),
    request_id: z.string().optional(),
  }),
  /**
   * The sessions named at the registration have been compared with the store: those not called stale or ended
   * by now are this worker's.
   */
  z.object({ type: z.literal('sessions_checked') }),
  /**
   * Sent to a worker that has left the call: the next one is about to send. Answered with `{stream}`; null if
   * nothing is sent any more.
   */
  z.object({ type: z.literal('release_stream'), ...sessionEpoch, request_id: z.string() }),
  /** Answer to `take_stream`. */
  z.object({ type: z.literal('stream'), ...sessionEpoch, stream: restOfStream.nullable() }),
  z.object({ type: z.literal('end'), ...sessionEpoch, end_reason: endReason }),
  /** A browser's offer; answered with `{sdp}`. */
  z.object({ type: z.literal('webrtc.offer'), ...sessionEpoch, request_id: z.string(), sdp: z.string() }),
  /**
   * A colleague joins a running call, over a peer connection (answered with `{sdp}`) or in a room of their
   * own that the worker joins too (`{sdp: null}`).
   */
  z.object({
    type: z.literal('participant.join'),
    ...sessionEpoch,
    request_id: z.string(),
    participant_id: z.string(),
    name: z.string().nullable(),
    mode: participantMode,
    connection: participantConnection,
  }),
  /** Answered with `{}`; refused as `not_found`, `call_taken` or `call_not_takeable`. */
  z.object({
    type: z.literal('participant.change'),
    ...sessionEpoch,
    request_id: z.string(),
    participant_id: z.string(),
    change: participantChange,
  }),
  ...RUN_AGAIN_REQUESTS,
  ...MODEL_REQUESTS,
  sendSip,
  /**
   * Ids of the speech models that the control plane has: a worker on another machine downloads those it
   * lacks. Sent after `registered`, and when a model has become usable.
   */
  z.object({ type: z.literal('speech_models'), models: z.array(z.string()) }),
]);
export type ControlMessage = z.output<typeof controlMessage>;
/** A command that is answered. */
export type ControlRequest =
  | Extract<ControlMessage, { readonly request_id: string }>
  | (Extract<ControlMessage, { type: 'stale' }> & { readonly request_id: string });
