/** Rates over the runs of a test by voice, with 95 % intervals. Pure. */
import {
  clusteredShare,
  type Estimate,
  NO_UNITS,
  ratio,
  rounded,
  wilson,
  withUnit,
} from '#base/intervals.ts';
import { quantile } from '#caller/statistics.ts';
import type { TurnTaking } from '#protocol/turn-taking.ts';
import type { Check, VoiceCall } from './voice-checks.ts';

/** One run; `turns` is null if there was no call. */
export interface VoiceRun {
  readonly run: number;
  readonly session_id: string | null;
  readonly passed: boolean;
  /** Why the run could not be judged. */
  readonly error: string | null;
  readonly checks: readonly Check[];
  readonly turns: TurnTaking | null;
  readonly ended_by: 'caller' | 'agent' | null;
  readonly criteria: Readonly<Record<string, string>> | null;
  /** A model's verdicts on the test's own conditions, with its reasons. */
  readonly judged: VoiceCall['verdicts'];
  /** How each conversation with a goal ended. */
  readonly goals: VoiceCall['goals'];
  readonly seconds: number;
  /** Longest delay of the caller itself, ms: an error of the measured times. */
  readonly caller_late_ms: number;
}

/** Figures of all runs of a test. */
export interface VoiceFigures {
  readonly pass_rate: Estimate;
  /** Over the caller's lines, whose calls are drawn whole. */
  readonly reply_ms: Estimate & { readonly p50: number | null; readonly p95: number | null };
  /** Share of the caller's lines. */
  readonly cut_off_rate: Estimate;
  /** Share of the lines that want an answer. */
  readonly unanswered_rate: Estimate;
  /** Share of the interruptions. */
  readonly missed_interruption_rate: Estimate;
  /** In one call, on average. */
  readonly talk_over_ms: Estimate;
  /** Share of all verdicts of models that are successes; a run's verdicts are drawn whole. */
  readonly judge_rate: Estimate;
  /** Share of the runs in which each condition of the test is met, by its name; empty without any. */
  readonly judged_rates: Readonly<Record<string, Estimate>>;
}

/** Sums up the runs. */
export function summarise(runs: readonly VoiceRun[]): VoiceFigures {
  const called = runs.flatMap(({ turns }) => (turns ? [turns] : []));
  const sums = (part: (turns: TurnTaking) => readonly [number, number]) =>
    called.reduce((all, turns) => withUnit(all, ...part(turns)), NO_UNITS);
  const replies = called.flatMap(({ replyMs }) => replyMs);
  const at = (q: number) => (replies.length === 0 ? null : Math.round(quantile(replies, q)));
  return {
    pass_rate: rounded(wilson(runs.filter(({ passed }) => passed).length, runs.length)),
    reply_ms: {
      ...rounded(ratio(sums(({ replyMs }) => [replyMs.reduce((sum, ms) => sum + ms, 0), replyMs.length])), 1),
      p50: at(0.5),
      p95: at(0.95),
    },
    cut_off_rate: rounded(clusteredShare(sums(({ cutOffs, lines }) => [cutOffs.length, lines]))),
    unanswered_rate: rounded(clusteredShare(sums(({ unanswered, asked }) => [unanswered, asked]))),
    missed_interruption_rate: rounded(
      clusteredShare(sums(({ missedInterruptions, stopMs }) => [missedInterruptions.length, stopMs.length])),
    ),
    talk_over_ms: rounded(ratio(sums(({ talkOverMs }) => [talkOverMs, 1])), 1),
    judge_rate: rounded(clusteredShare(verdictSums(runs))),
    judged_rates: judgedRates(runs),
  };
}

function verdictSums(runs: readonly VoiceRun[]): typeof NO_UNITS {
  return runs.reduce((all, { criteria, judged }) => {
    const results = [...Object.values(criteria ?? {}), ...(judged ?? []).map(({ result }) => result)];
    const met = results.filter((result) => result === 'success').length;
    return results.length === 0 ? all : withUnit(all, met, results.length);
  }, NO_UNITS);
}

function judgedRates(runs: readonly VoiceRun[]): VoiceFigures['judged_rates'] {
  const verdicts = runs.flatMap(({ judged }) => judged ?? []);
  const names = [...new Set(verdicts.map(({ name }) => name))];
  return Object.fromEntries(
    names.map((name) => {
      const own = verdicts.filter((verdict) => verdict.name === name);
      return [name, rounded(wilson(own.filter(({ result }) => result === 'success').length, own.length))];
    }),
  );
}
