/**
 * Entries of a session's timeline and its measurements: the shapes that a worker reports and the sessions API
 * returns.
 */
import { z } from 'zod';

const at = z.iso.datetime();

/**
 * What a colleague does in a call: `joined` listens to caller and agent, `took_over` speaks in the agent's
 * place, until `handed_back` or `left`.
 */
export const participantEvent = z.enum(['joined', 'took_over', 'handed_back', 'left']);
export type ParticipantEvent = z.infer<typeof participantEvent>;

/** Stands for what a caller said in a foreign language, as the recogniser says (`asr.strict_language`). */
export const UNINTELLIGIBLE = '[unintelligible speech]';

/** An entry of the session's timeline, in the format of the sessions API. */
export const sessionItem = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message'),
    /** `human`: a colleague who has taken over the call. */
    role: z.enum(['user', 'assistant', 'human']),
    content: z.string(),
    turn_id: z.number().int().nullable(),
    created_at: at,
    id: z.string(),
  }),
  z.object({
    type: z.literal('tool_call'),
    call_id: z.string(),
    tool_name: z.string(),
    tool_source: z.string().nullable(),
    input: z.string(),
    turn_id: z.number().int().nullable(),
    created_at: at,
  }),
  z.object({
    type: z.literal('tool_result'),
    call_id: z.string(),
    tool_name: z.string(),
    tool_source: z.string().nullable(),
    status: z.enum(['completed', 'failed']),
    output: z.string().nullable(),
    output_truncated: z.boolean(),
    error: z.string().nullable(),
    latency_ms: z.number().nullable(),
    turn_id: z.number().int().nullable(),
    created_at: at,
  }),
  /** The knowledge search of a turn; no passages if nothing matched. */
  z.object({
    type: z.literal('knowledge_retrieval'),
    query: z.string(),
    /** `timeout`: the turn was answered without it. */
    status: z.enum(['completed', 'timeout']),
    latency_ms: z.number(),
    citations: z.array(
      z.object({ knowledge_source_id: z.string(), name: z.string(), chunk: z.number().int() }),
    ),
    turn_id: z.number().int().nullable(),
    created_at: at,
  }),
  z.object({
    type: z.literal('llm.endpoint_error'),
    message: z.string(),
    status: z.number().int().nullable(),
    turn_id: z.number().int().nullable(),
    created_at: at,
  }),
  /** A colleague in the call. */
  z.object({
    type: z.literal('participant'),
    participant_id: z.string(),
    name: z.string().nullable(),
    event: participantEvent,
    turn_id: z.null(),
    created_at: at,
  }),
]);
export type SessionItem = z.infer<typeof sessionItem>;

/**
 * The latency waterfall of one turn, in ms: consecutive parts of the critical path from the caller's end of
 * speech to the agent's first sample sent. They add up to `total_ms` within 1 ms. A part that is not on the
 * critical path is 0 (such as a final before the endpoint decision).
 */
export const turnLatency = z.object({
  turn_id: z.number().int(),
  speech_ended_at: at,
  /** Wait for the caller to continue: the endpointing wait. */
  endpoint_ms: z.number(),
  /** Wait for the recogniser after the endpoint was due. */
  transcript_ms: z.number(),
  /** From the commit to the model's first token. */
  first_token_ms: z.number(),
  /** From the first token to the first speakable piece. */
  first_sentence_ms: z.number(),
  /** From the first piece to its first audio. */
  first_audio_ms: z.number(),
  /** From the first audio to the first sample sent. */
  playout_ms: z.number(),
  total_ms: z.number(),
  /** The endpoint rule that applied, such as `complete` or `half_number`. */
  endpoint_rule: z.string(),
  /** The expected answer and how much of it the caller said; absent if that did not decide the wait. */
  expectation: z.string().optional(),
  speculative: z.boolean(),
});
export type TurnLatency = z.infer<typeof turnLatency>;

/**
 * A gap of more than 700 ms between two sounds that the caller had to wait through, and its causes: the
 * durations in order (`tool` overlaps other parts), and the decisions made within it, each with its reference
 * time, the time it decided for, and the alternatives.
 */
export const turnSilence = z.object({
  turn_id: z.number().int().nullable(),
  started_at: at,
  duration_ms: z.number(),
  ended_by: z.enum(['agent', 'caller']),
  causes: z.array(
    z.object({
      cause: z.enum([
        'endpoint',
        'transcript',
        'model',
        'sentence',
        'voice',
        'answer',
        'tool',
        'caller_silent',
      ]),
      /** The rule, or the tool's name. */
      rule: z.string().nullable(),
      ms: z.number(),
    }),
  ),
  decisions: z.array(
    z.object({
      about: z.string(),
      rule: z.string(),
      anchor_at: at,
      deadline_at: at,
      decided_at: at,
      rejected: z.array(z.object({ rule: z.string(), deadline_at: at, because: z.string() })),
    }),
  ),
});
export type TurnSilence = z.infer<typeof turnSilence>;

/** A stretch in which the caller heard the agent and spoke at the same time. */
export const speechOverlap = z.object({
  started_at: at,
  duration_ms: z.number(),
  /** Who began to speak while the other one spoke. */
  begun_by: z.enum(['agent', 'caller']),
});
export type SpeechOverlap = z.infer<typeof speechOverlap>;

/** A stretch of an outgoing call in which the far end was not a person (`automated_lines`). */
export const sessionLine = z.object({
  /** A menu, a queue or a person's hold, or the screening of a phone. */
  line: z.enum(['menu', 'hold', 'screening']),
  started_at: at,
  duration_ms: z.number(),
  /**
   * The event that followed. `handed_over`: another person talks with the far end; `gave_up`: the agent ended
   * the call.
   */
  ended_by: z.enum([
    'person',
    'menu',
    'hold',
    'screening',
    'machine',
    'handed_over',
    'call_ended',
    'gave_up',
  ]),
  /** Why the agent gave up; absent if it did not. */
  gave_up: z.enum(['menu_loop', 'dead_end', 'held_too_long', 'not_put_through']).optional(),
});
export type SessionLine = z.infer<typeof sessionLine>;

/** Why nothing was heard from a caller. */
const unheardCaller = z.object({
  /** Where audio was expected from; null if the audio passes a media relay of the operator. */
  expected_address: z.string().nullable(),
  /** Sources of packets that were refused. */
  refused_addresses: z.array(z.string()),
  /** Packets that could not be decrypted or parsed; absent if there were none. */
  unreadable_packets: z.number().int().optional(),
});
export type UnheardCaller = z.infer<typeof unheardCaller>;

/**
 * Media statistics of a phone call (RFC 3550 §6.4): measured at our end; the round trip is from the peer's
 * reports.
 */
export const mediaQuality = z.object({
  packets_received: z.number().int(),
  packets_lost: z.number().int(),
  packets_sent: z.number().int(),
  /** Interarrival jitter at the end of the call, ms. */
  jitter_ms: z.number(),
  /** ms; null if the peer sends no reports. */
  round_trip_ms: z.number().nullable(),
  /** Delay of the jitter buffer at the end of the call, ms; null if unknown. */
  jitter_buffer_ms: z.number().nullable().default(null),
  /** Share of the caller's audio that was lost or late and concealed, 0 to 1; null if unknown. */
  concealed_share: z.number().nullable().default(null),
  /**
   * Estimated quality of the caller's audio, 1 to 4.4 (E-model, ITU-T G.107); null if nothing was received.
   */
  mos: z.number().nullable(),
  /** Present only if nothing was heard from the caller. */
  unheard: unheardCaller.optional(),
});
export type MediaQuality = z.infer<typeof mediaQuality>;

/** Tokens of one generation; null if the model does not report them. */
export interface ModelUsage {
  readonly turn_id: number | null;
  readonly model: string;
  readonly input_tokens: number | null;
  readonly cached_input_tokens: number | null;
  readonly output_tokens: number | null;
  /**
   * Generated for a reply discarded before its turn was certain: reported separately, never part of the
   * turn's cost.
   */
  readonly discarded_output_tokens: number;
}

/** Why a session ended. */
export const endReason = z.enum([
  'user_hangup',
  'agent_hangup',
  'escalated',
  'conversation_timeout',
  'heartbeat_timeout',
  'agent_join_timeout',
  'internal_error',
  'llm_endpoint_failure',
  'room_join_timeout',
  'cancelled',
  'dial_failed',
]);
export type EndReason = z.infer<typeof endReason>;

/** Ends of a call that took place which neither side wanted. */
export const BREAKDOWNS: ReadonlySet<string | null> = new Set<EndReason>([
  'agent_join_timeout',
  'heartbeat_timeout',
  'internal_error',
  'llm_endpoint_failure',
]);

export const sessionStatus = z.enum(['pending', 'active', 'completed', 'failed', 'unknown']);

export const dialStatus = z.enum(['answered', 'busy', 'no_answer', 'failed']);
export type DialStatus = z.infer<typeof dialStatus>;

/** The result of post-call analysis, without `finished_at`, which the control plane sets. */
export const analysisResult = z.object({
  status: z.enum(['completed', 'skipped', 'error']),
  summary: z.string().nullable(),
  data: z.array(
    z.object({
      name: z.string(),
      type: z.string(),
      value: z.union([z.string(), z.number(), z.boolean()]).nullable(),
      rationale: z.string(),
    }),
  ),
  criteria_results: z.array(
    z.object({ name: z.string(), result: z.enum(['success', 'failure', 'unknown']), rationale: z.string() }),
  ),
  error: z.string().nullable(),
});
export type AnalysisResult = z.infer<typeof analysisResult>;
