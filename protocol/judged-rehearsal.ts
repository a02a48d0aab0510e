/** What a judged rehearsal has found: verdicts over turns asked again, their noise, and what they cost. */
import { z } from 'zod';
import { turnAnswer } from './judged-turns.ts';
import { shareEstimate } from './share-estimate.ts';

/** The draft's answer against the one of the call. */
export const VERDICTS = ['same', 'better', 'worse', 'different'] as const;
export const verdict = z.enum(VERDICTS);
export type Verdict = z.output<typeof verdict>;

/** Verdicts over a group of turns. */
const judgedFigures = z.object({
  turns: z.number().int(),
  calls: z.number().int(),
  same: z.number().int(),
  better: z.number().int(),
  worse: z.number().int(),
  different: z.number().int(),
  same_share: shareEstimate,
  better_share: shareEstimate,
  worse_share: shareEstimate,
  different_share: shareEstimate,
});
export type JudgedFigures = z.output<typeof judgedFigures>;

const namedFigures = judgedFigures.extend({ name: z.string() });

/** A turn to read. */
const toRead = z.object({
  session_id: z.string(),
  verdict,
  at: z.iso.datetime(),
  /** Since the start of the call; null if that is unknown. */
  second: z.number().nullable(),
  reason: z.string(),
  call_answer: turnAnswer,
  draft_answer: turnAnswer,
});
export type TurnToRead = z.output<typeof toRead>;

/** The judged part of a rehearsal. Amounts are dollars. */
export const judgedResult = z.object({
  status: z.enum(['waiting', 'running', 'ended']),
  model: z.string(),
  judge_model: z.string(),
  max_cost: z.string(),
  /** List price of all answers so far. */
  cost: z.string(),
  /** At most so much more was spent on answers that never came. */
  cost_unknown: z.string(),
  /** Why not all turns were asked; null if they were, or will be. */
  stopped: z.string().nullable(),
  calls_read: z.number().int(),
  turns_found: z.number().int(),
  turns_sampled: z.number().int(),
  turns_judged: z.number().int(),
  not_judged: z.object({
    /** Not asked yet, or not at all after a stop. */
    not_asked: z.number().int(),
    failed: z.number().int(),
    /** Their call can no longer be read. */
    gone: z.number().int(),
  }),
  /** The version of the call asked once more: how often the judge says other than `same`. */
  noise: z.object({ turns: z.number().int(), differing: z.number().int(), share: shareEstimate }),
  all: judgedFigures,
  by_language: z.array(namedFigures),
  by_number: z.array(namedFigures),
  to_read: z.array(toRead),
});
export type JudgedResult = z.output<typeof judgedResult>;

/** What a judged rehearsal would cost. */
export const judgedEstimate = z.object({
  calls_found: z.number().int(),
  /** Calls that were read for this. */
  calls_read: z.number().int(),
  /** Turns in them. */
  turns_found: z.number().int(),
  turns_sampled: z.number().int(),
  /** Of these so many are asked of the call's own version once more. */
  turns_again: z.number().int(),
  model: z.string(),
  judge_model: z.string(),
  input_tokens: z.number().int(),
  output_tokens: z.number().int(),
  /** Expected list price, dollars. */
  cost: z.string(),
  max_cost: z.string(),
  /** False: a model has no known list price and counts as an expensive one. */
  is_priced: z.boolean(),
});
export type JudgedEstimate = z.output<typeof judgedEstimate>;
