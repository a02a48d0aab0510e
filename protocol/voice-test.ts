/**
 * A test by voice: a caller with its steps, and what must be true of the call. The shape of a file that
 * people write, that `parley test --voice` runs, and that the API makes from a call.
 */
import { z } from 'zod';
import { isLinearPattern } from '#base/linear-pattern.ts';
import { CALLER_STEPS, callerConditions, converseStep } from './caller-steps.ts';
import { callConditions, callerPersona, testModel } from './test-call-question.ts';

/** Version of the shape. */
export const VOICE_TEST_FORMAT = 1;
/** Runs of one test at most. */
export const MOST_VOICE_RUNS = 100;

/** Steps of one test at most. */
export const MOST_VOICE_STEPS = 200;

const MOST_EXPECTED = 20;

/** Longest time that can be expected, ms. */
export const LONGEST_EXPECTED_MS = 600_000;

const text = z.string().min(1).max(500);
const milliseconds = z.number().positive().max(LONGEST_EXPECTED_MS);
const count = z.number().int().min(0).max(1_000);
const pattern = z
  .string()
  .min(1)
  .max(1_000)
  .refine(isLinearPattern, 'is no regular expression of RE2, which has no look-around and no backreference');

/** Conditions that a call must meet. A figure without a condition is measured but not judged. */
export const voiceExpectations = z.strictObject({
  /** Each is in one reply of the agent; `contains` ignores letter case, `matches` is a pattern of RE2. */
  replies: z
    .array(z.union([z.strictObject({ contains: text }), z.strictObject({ matches: pattern })]))
    .max(MOST_EXPECTED)
    .optional(),
  /** Function names of tools that are called, or with `called: false` are not. */
  tools: z
    .array(z.strictObject({ name: z.string().min(1).max(120), called: z.boolean().default(true) }))
    .max(MOST_EXPECTED)
    .optional(),
  /** From the end of a caller's line to the agent's first sound: of all lines of a call. */
  reply_ms: z
    .strictObject({ p95: milliseconds.optional(), max: milliseconds.optional() })
    .refine(({ p95, max }) => p95 !== undefined || max !== undefined, 'needs p95 or max')
    .optional(),
  /** The longest silence in which the caller waits for the agent, ms. */
  silence_ms: milliseconds.optional(),
  /** Most lines into which the agent speaks. */
  cut_offs: count.optional(),
  /** Most interruptions that do not silence the agent within 1.5 s. */
  missed_interruptions: count.optional(),
  /** Most lines that want an answer and get none. */
  unanswered: count.optional(),
  /** Longest time, in sum, in which both speak at once, ms. */
  talk_over_ms: z.number().min(0).max(LONGEST_EXPECTED_MS).optional(),
  ended_by: z.enum(['caller', 'agent']).optional(),
  /** Verdicts of the model on success criteria of the agent's analysis, by their names. */
  criteria: z.record(z.string().min(1).max(64), z.enum(['success', 'failure'])).optional(),
  /** Conditions of this test's own, all of which a model must find met. */
  judged: callConditions.optional(),
  /** Model that judges them; absent: the agent's own. */
  judge_model: testModel.optional(),
});
export type VoiceExpectations = z.output<typeof voiceExpectations>;

/** The origin of a test that was made from a call. */
const madeFrom = z.strictObject({
  session_id: z.string().max(64),
  fault: z.string().max(64),
  /** How many of each kind of private data were replaced. */
  replaced: z.record(z.string().max(64), z.number().int()),
});

/** A test in its file. */
export const voiceTest = z.strictObject({
  parley_voice_test: z.literal(VOICE_TEST_FORMAT),
  name: z.string().min(1).max(200),
  caller: z
    .strictObject({
      ...callerConditions,
      /** Who calls, in the steps in which they converse. */
      persona: callerPersona.optional(),
      /** Model that plays them; absent: the agent's own. */
      model: testModel.optional(),
    })
    .prefault({}),
  /** The caller hangs up after the last one. */
  steps: z
    .array(z.discriminatedUnion('do', [...CALLER_STEPS, converseStep]))
    .min(1)
    .max(MOST_VOICE_STEPS),
  expect: voiceExpectations,
  repeat: z.number().int().min(1).max(MOST_VOICE_RUNS).default(1),
  made_from: madeFrom.optional(),
});
export type VoiceTest = z.output<typeof voiceTest>;
export type VoiceTestFile = z.input<typeof voiceTest>;

/** Faults of a call from which a test is made. */
export const VOICE_FAULTS = ['cut_off', 'missed_interruption', 'silence', 'tool_not_called'] as const;
export type VoiceFault = (typeof VOICE_FAULTS)[number];
