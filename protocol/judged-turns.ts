/**
 * One turn of an ended call asked again: what a worker is asked, and what it answers. A model answers on the
 * history as it was heard, or another one compares two answers. No tool runs.
 */
import { z } from 'zod';
import { costOf } from '#config/language-models.ts';
import { localModel } from '#config/local-models.ts';
import { callPlan } from './call-plan.ts';
import { sessionItem } from './session-record.ts';

/** Most tokens of an answer, also of a judge's. */
export const JUDGED_OUTPUT_TOKENS = 1_000;
/** Tokens that vendors add to a request of their own, for roles and the schemas of tools. */
const ADDED_TOKENS = 1_000;

/** An answer of an agent's model: words, calls of tools, or both. */
export const turnAnswer = z.object({
  text: z.string(),
  calls: z.array(z.object({ tool_name: z.string(), arguments: z.string() })),
});
export type TurnAnswer = z.output<typeof turnAnswer>;

/** List price that the answer must not exceed, micro-dollars. */
const most_micros = z.number().int().nonnegative();

/** A question about a turn. */
export const turnQuestion = z.discriminatedUnion('step', [
  z.object({
    step: z.literal('answer'),
    plan: callPlan,
    /** The call before the answer. */
    items: z.array(sessionItem),
    /** When the answer was due, Unix ms. */
    at_ms: z.number(),
    most_micros,
  }),
  z.object({
    step: z.literal('compare'),
    /** `<provider>/<model>` of the judge. */
    model: z.string(),
    local_models: z.array(localModel),
    items: z.array(sessionItem),
    first: turnAnswer,
    second: turnAnswer,
    most_micros,
  }),
]);
export type TurnQuestion = z.output<typeof turnQuestion>;

/** List price of what the model has reported; and the most of what it may have billed without a report. */
const costs = {
  cost_micros: z.number().int().nonnegative(),
  unknown_micros: z.number().int().nonnegative().optional(),
};

/** What became of a question. */
export const questionOutcome = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('answered'), answer: turnAnswer, ...costs }),
  z.object({
    outcome: z.literal('compared'),
    result: z.enum(['same', 'first', 'second', 'different']),
    reason: z.string(),
    ...costs,
  }),
  /** It could cost more than it may, so no model was asked. */
  z.object({ outcome: z.literal('dear'), needs_micros: z.number().int().nonnegative() }),
  z.object({ outcome: z.literal('failed'), error: z.string(), ...costs }),
]);
export type QuestionOutcome = z.output<typeof questionOutcome>;

/** The most that a request of so many bytes can cost, micro-dollars: no token is shorter than a byte. */
export function mostMicros(modelId: string, bytes: number): number {
  return costOf(modelId, { inputTokens: bytes + ADDED_TOKENS, outputTokens: JUDGED_OUTPUT_TOKENS });
}
