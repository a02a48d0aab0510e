/** Steps and conditions of a scripted caller: shared by scenes (`caller/scene.ts`) and voice tests. */
import { z } from 'zod';

/** Longest pause or wait of a step, ms. */
const LONGEST_MS = 3_600_000;

const waitMs = z.number().positive().max(LONGEST_MS);
const pauseMs = z.number().nonnegative().max(LONGEST_MS);
/** A pair is a random range. */
const range = z.union([pauseMs, z.tuple([pauseMs, pauseMs])]);
/** Most characters of a line. */
export const MOST_LINE_CHARS = 500;
/** Most keys that are pressed in one step; the pattern repeats it. */
export const MOST_KEYS = 64;
/** Keys of a telephone. */
export const KEYS = /^[0-9*#A-D]{1,64}$/;
const text = z.string().min(1).max(MOST_LINE_CHARS);
/** A voice of Flite, or one of eSpeak in English, such as `espeak-en`, where its program is built. */
export const callerVoice = z.string().regex(/^(?:slt|rms|awb|kal|kal16|espeak-[a-z]{2})$/);

/** An `impatient` caller says `text` whenever the agent has not begun to speak for `after_ms`. */
const impatient = z
  .strictObject({ after_ms: waitMs, text, times: z.number().int().min(1).max(10).default(1) })
  .optional();

/** Most moves of a caller in one conversation. */
export const MOST_MOVES = 40;
/** The shortest silence after which a model is asked: until then a reply may not be in the transcript. */
const SHORTEST_QUIET_MS = 300;

/**
 * Talks with the agent until the goal is reached, or clearly refused, or for `max_lines` moves. A language
 * model decides each of them.
 */
export const converseStep = z.strictObject({
  do: z.literal('converse'),
  goal: z.string().min(1).max(2_000),
  max_lines: z.number().int().min(1).max(MOST_MOVES).default(12),
  quiet_ms: z.number().min(SHORTEST_QUIET_MS).max(LONGEST_MS).default(800),
  timeout_ms: waitMs.default(15_000),
  impatient,
});

/** One step of a caller, by `do`. */
export const CALLER_STEPS = [
  /**
   * Waits until the agent has spoken and then been silent for `quiet_ms`; continues after `timeout_ms` in any
   * case. An `impatient` caller says `text` whenever the agent has not begun to speak for `after_ms`.
   */
  z.strictObject({
    do: z.literal('listen'),
    quiet_ms: waitMs.default(800),
    timeout_ms: waitMs.default(15_000),
    impatient,
  }),
  /** Stays silent. */
  z.strictObject({ do: z.literal('pause'), ms: range }),
  /** Says a line. `is_unfinished`: the caller intends to continue with the next one. */
  z.strictObject({
    do: z.literal('say'),
    text,
    voice: callerVoice.optional(),
    is_unfinished: z.boolean().default(false),
  }),
  /**
   * Waits until the agent has been speaking for `after_ms`, then says the line over it; `is_backchannel`:
   * without wanting the turn.
   */
  z.strictObject({
    do: z.literal('interrupt'),
    text,
    is_backchannel: z.boolean().default(false),
    after_ms: range.default(700),
    voice: callerVoice.optional(),
    timeout_ms: waitMs.default(15_000),
  }),
  /** Makes a meaningless sound while the agent has been speaking for `after_ms`. */
  z.strictObject({
    do: z.literal('sound'),
    sound: z.enum(['cough', 'door']),
    after_ms: range.default(700),
    timeout_ms: waitMs.default(15_000),
  }),
  /** Presses keys (RFC 4733). */
  z.strictObject({ do: z.literal('press'), digits: z.string().regex(KEYS) }),
  /** Waits for the agent to hang up. */
  z.strictObject({ do: z.literal('await_hang_up'), timeout_ms: waitMs.default(15_000) }),
] as const;

/** Codecs of a phone caller: G.711 (µ-law, A-law), G.722 (RFC 3551 §4.5) and Opus (RFC 7587). */
export const CALLER_CODECS = ['pcmu', 'pcma', 'g722', 'opus'] as const;
export type CallerCodec = (typeof CALLER_CODECS)[number];

/** How a caller and the line sound. */
export const callerConditions = {
  /** Random values of the caller are the same at every run with the same seed. */
  seed: z.number().int().nonnegative().default(1),
  voice: callerVoice.default('slt'),
  /** Of the voice; 1 is its own. */
  speed: z.number().min(0.5).max(2).default(1),
  /** Loudness of the caller relative to Flite's own voice. */
  voice_db: z.number().min(-40).max(12).default(0),
  /** Constant background behind the caller; 0 dB is as loud as Flite's voice. */
  background: z
    .strictObject({ sound: z.enum(['noise', 'television']), level_db: z.number().min(-60).max(0) })
    .optional(),
  /** The caller's telephone echoes the agent. */
  echo: z
    .strictObject({ delay_ms: z.number().min(0).max(600), loss_db: z.number().min(0).max(60) })
    .optional(),
  /** The only codec that a phone caller offers; absent: `pcmu`. */
  codec: z.enum(CALLER_CODECS).optional(),
  /** Impairment of the caller's packets (phones only). */
  network: z
    .strictObject({
      loss: z.number().min(0).max(0.5).default(0),
      jitter_ms: z.number().min(0).max(200).default(0),
    })
    .optional(),
};
