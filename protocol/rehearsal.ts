/**
 * Rehearsal: ended calls run again under an agent's draft. What a worker is asked and answers, a call at a
 * time, and the result for a client.
 */
import { z } from 'zod';
import { agentConfig } from '#config/agent-config.ts';
import { judgedResult } from './judged-rehearsal.ts';
import { replaySettings } from './replay.ts';
import { shareEstimate as estimate } from './share-estimate.ts';

const { conversation, tools } = agentConfig.shape;
const { keypad_input, max_duration_seconds } = conversation.unwrap().shape;
const { hang_up_call_refuse_questions } = tools.unwrap().shape.system_tools.unwrap().shape;

/** Settings in which the draft differs from what a call ran, of those that the turn machine decides by. */
export const rehearsedChanges = replaySettings.extend({
  max_duration_seconds: max_duration_seconds.unwrap().optional(),
  hang_up_call_refuse_questions: hang_up_call_refuse_questions.unwrap().optional(),
  /** Absent for a web call, which has no keys. */
  keypad_input: keypad_input.unwrap().optional(),
});
export type RehearsedChanges = z.output<typeof rehearsedChanges>;

/** One call for a worker to run again. */
export const rehearsedCall = z.object({
  session_id: z.string(),
  /** The stored flight log: lines of JSON. */
  log: z.string(),
  changes: rehearsedChanges,
});
export type RehearsedCall = z.output<typeof rehearsedCall>;

/** Kinds of a first difference, by what the caller would have noticed. */
export const DIFFERENCES = [
  'reply_earlier',
  'reply_later',
  'interruption_taken',
  'interruption_not_taken',
  'hold_line',
  'key',
  'transfer',
  'hang_up',
  'other',
] as const;
export type DifferenceKind = (typeof DIFFERENCES)[number];

/** What the machine did, or would have done, in the part of a call that both have in common. */
export const ACTIONS = ['hold_lines', 'interruptions', 'keys', 'transfers'] as const;
const actionCounts = z.object({
  hold_lines: z.number().int().nonnegative(),
  interruptions: z.number().int().nonnegative(),
  keys: z.number().int().nonnegative(),
  transfers: z.number().int().nonnegative(),
});
export type ActionCounts = z.output<typeof actionCounts>;

/** A thing that the caller would notice, or that asks the model. */
const did = z.enum(['play', 'pause', 'resume', 'clear', 'transfer', 'hang_up', 'generate']);
export type Did = z.output<typeof did>;

/** Unix ms of the worker's wall clock. */
const moment = z.object({ at_ms: z.number(), did });

/** The first noticeable difference of a call. */
const difference = z.object({
  kind: z.enum(DIFFERENCES),
  /** Null if nothing more happened. */
  was: moment.nullable(),
  would_be: moment.nullable(),
});
export type Difference = z.output<typeof difference>;

/** The pauses of a call in which its turn was open, each judged alone from the state of the real call. */
const callPauses = z.object({
  /** All pauses, also those while the agent spoke, which are not judged. */
  all: z.number().int().nonnegative(),
  judged: z.number().int().nonnegative(),
  /** Pauses in which the caller went on and was cut off; and would have been. */
  cut_off: z.number().int().nonnegative(),
  would_cut_off: z.number().int().nonnegative(),
  /** Of these: newly cut off, and no longer. */
  caused: z.number().int().nonnegative(),
  spared: z.number().int().nonnegative(),
  /** Pauses in which the caller would perhaps have been cut off: the log cannot say. */
  unknown: z.number().int().nonnegative(),
  /** When the agent would have cut in first, Unix ms; null without one. */
  first_caused_at_ms: z.number().nullable(),
  /** Sum of the wait saved in the turns that are taken both times, ms; negative: longer. */
  saved_ms: z.number(),
  taken: z.number().int().nonnegative(),
});
export type CallPauses = z.output<typeof callPauses>;

/** What became of one call. */
export const rehearsedOutcome = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.literal('run'),
    session_id: z.string(),
    language: z.string(),
    /** Null: the same to its end. */
    difference: difference.nullable(),
    /** Share of the call before the difference, 0 to 1. */
    judged: z.number().min(0).max(1),
    pauses: callPauses,
    /** Up to and with the first difference. */
    was: actionCounts,
    would_be: actionCounts,
  }),
  z.object({ outcome: z.enum(['other_version', 'unreadable']), session_id: z.string() }),
]);
export type RehearsedOutcome = z.output<typeof rehearsedOutcome>;
export type RunOutcome = Extract<RehearsedOutcome, { outcome: 'run' }>;

/** A worker's answer. */
export const rehearsedOutcomes = z.object({ calls: z.array(rehearsedOutcome) });

const actionChange = z.object({
  was: z.number().int(),
  would_be: z.number().int(),
  /** More of them in a call, on average. */
  change: estimate,
});

/** Figures over a group of calls. */
const groupFigures = z.object({
  calls: z.number().int(),
  /** Calls that would have gone another way. */
  differing: z.number().int(),
  differing_share: estimate,
  first_differences: z.record(z.enum(DIFFERENCES), z.number().int()),
  /** Share of a call before its first difference, on average. */
  judged_share: z.number(),
  pauses: z.number().int(),
  judged_pauses: z.number().int(),
  cut_offs: z.object({
    was: z.number().int(),
    would_be: z.number().int(),
    caused: z.number().int(),
    spared: z.number().int(),
    /** Pauses that may be further cut-offs under a slower draft; at most so many. */
    unknown: z.number().int(),
    /** Of the judged pauses. */
    caused_share: estimate,
    spared_share: estimate,
  }),
  waiting: z.object({
    /** Of all turns together, ms. */
    saved_total_ms: z.number(),
    /** Of one turn, and of one call. */
    saved_ms_per_turn: estimate,
    saved_ms_per_call: estimate,
  }),
  hold_lines: actionChange,
  interruptions: actionChange,
  keys: actionChange,
  transfers: actionChange,
});
export type GroupFigures = z.output<typeof groupFigures>;

const namedGroup = groupFigures.extend({ name: z.string() });

/** A call to listen to. */
const toListen = z.object({
  session_id: z.string(),
  why: z.enum(['cut_off', ...DIFFERENCES]),
  at: z.iso.datetime(),
  /** Since the start of the call; null if that is unknown. */
  second: z.number().nullable(),
});
export type CallToListen = z.output<typeof toListen>;

/** What a rehearsal has found so far. */
export const rehearsalResult = z.object({
  all: groupFigures,
  by_hour: z.array(namedGroup),
  by_language: z.array(namedGroup),
  by_number: z.array(namedGroup),
  to_listen: z.array(toListen),
});
export type RehearsalResult = z.output<typeof rehearsalResult>;

/** How far a rehearsal is, and what it leaves out. */
export const rehearsalRecord = z.object({
  rehearsal_id: z.string(),
  agent_id: z.string(),
  status: z.enum(['running', 'completed', 'failed']),
  /** Why it failed. */
  error: z.string().nullable(),
  /** Hash of the draft that is rehearsed. */
  config_hash: z.string(),
  since: z.iso.datetime(),
  /** Ended calls since then, and how many of them were drawn. */
  calls_found: z.number().int(),
  calls_wanted: z.number().int(),
  /** Drawn calls that were looked at so far. */
  calls_looked_at: z.number().int(),
  left_out: z.object({
    no_log: z.number().int(),
    other_version: z.number().int(),
    unreadable: z.number().int(),
  }),
  /** Calls that ran a version before the published one. */
  calls_of_earlier_versions: z.number().int(),
  /** Settings of the draft that differ from the published version and that no rehearsal judges. */
  not_judged: z.array(z.string()),
  timezone: z.string(),
  result: rehearsalResult,
  /** Turns that were asked again; absent without a judge. */
  judged: judgedResult.optional(),
  created_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
});
export type RehearsalRecord = z.output<typeof rehearsalRecord>;
