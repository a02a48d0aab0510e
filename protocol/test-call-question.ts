/**
 * Questions to a language model about a test call: what a caller does next who has a persona and a goal, and
 * whether the ended call meets conditions. The control plane asks a worker, which asks the model.
 */
import { z } from 'zod';
import { localModel } from '#config/local-models.ts';
import { judgement } from './agent-test.ts';
import { KEYS, MOST_KEYS, MOST_MOVES } from './caller-steps.ts';
import { sessionItem } from './session-record.ts';

/** Most characters of a line that a model writes: some twenty seconds of speech. */
export const MOST_MOVE_CHARS = 300;
/** Most turns of a conversation that a model reads, and characters of each. */
export const MOST_SHOWN_TURNS = 100;
export const MOST_TURN_CHARS = 1_000;
/** Most conditions of one test. */
const MOST_CONDITIONS = 10;
const MOST_REASON_CHARS = 2_000;

/** Who calls. */
export const callerPersona = z.string().min(1).max(2_000);
/** `<provider>/<model>` of the models that are offered. */
export const testModel = z.string().min(1).max(256);

/** A turn of the call: of the agent as far as it was heard, of the caller as it was said. */
export const heardTurn = z.strictObject({
  role: z.enum(['agent', 'caller']).describe('Who spoke'),
  text: z.string().min(1).max(MOST_TURN_CHARS).describe('Words, or keys in brackets'),
});

/** A condition that a call must meet. */
const callCondition = z.strictObject({
  name: z.string().min(1).max(80).describe('Name that the verdict has, too; unique'),
  condition: z.string().min(1).max(500).describe('What must be true of the call'),
});

/** Conditions of one call. */
export const callConditions = z
  .array(callCondition)
  .min(1)
  .max(MOST_CONDITIONS)
  .refine((list) => new Set(list.map(({ name }) => name)).size === list.length, 'names must be unique');

/** What a caller does next. What a model writes is untrusted, so the worker and the client both parse it. */
export const callerMove = z.object({
  do: z.enum(['say', 'press', 'wait', 'hang_up']).describe('What the caller does next'),
  text: z
    .string()
    .max(MOST_MOVE_CHARS)
    .nullable()
    .describe('Words of `say`, or said before `hang_up`; otherwise null'),
  keys: z
    .string()
    .max(MOST_KEYS)
    .refine((keys) => KEYS.test(keys), 'must be keys of a telephone')
    .nullable()
    .describe('Keys of `press`; otherwise null'),
  cut_in: z
    .string()
    .max(MOST_MOVE_CHARS)
    .nullable()
    .describe('Words with which the caller interrupts the answer to `say`; null if they let it end'),
  goal: z
    .enum(['open', 'reached', 'refused'])
    .describe('Whether the caller has reached the goal, or clearly will not'),
});
export type CallerMove = z.output<typeof callerMove>;

/** The verdict on a condition. */
export const callVerdict = z.object({
  name: z.string().describe('Name of the condition'),
  result: judgement.describe('`unknown` if the call does not show it'),
  reason: z.string().max(MOST_REASON_CHARS).describe('Why, in a sentence of the judging model'),
});
export type CallVerdict = z.output<typeof callVerdict>;

const asked = { model: testModel, local_models: z.array(localModel) };

/** What a worker is asked. */
export const testCallQuestion = z.discriminatedUnion('step', [
  z.object({
    step: z.literal('move'),
    ...asked,
    persona: z.string().nullable(),
    goal: z.string(),
    /** Of the call so far, in order. */
    turns: z.array(heardTurn),
    /** Moves that are left, this one included. */
    moves_left: z.number().int().min(1).max(MOST_MOVES),
  }),
  z.object({
    step: z.literal('judge'),
    ...asked,
    conditions: callConditions,
    /** The call as its session has it. */
    items: z.array(sessionItem),
    /** What the caller really said; in `items` it is what was recognised. */
    lines: z.array(z.string()),
    ended_by: z.string(),
  }),
]);
export type TestCallQuestion = z.output<typeof testCallQuestion>;

/** Price of the model's answers, list price in micro-dollars. */
const cost_micros = z.number().int().nonnegative();

/** A worker's answer; the price counts in each case. */
export const testCallOutcome = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('move'), move: callerMove, cost_micros }),
  z.object({ outcome: z.literal('judged'), verdicts: z.array(callVerdict), cost_micros }),
  z.object({ outcome: z.literal('failed'), error: z.string().max(500), cost_micros }),
]);
export type TestCallOutcome = z.output<typeof testCallOutcome>;
