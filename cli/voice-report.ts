/** Prints the results of tests by voice, and writes them as JUnit XML. */
import type { Estimate } from '#base/intervals.ts';
import { type JunitCase, junitXml } from './junit.ts';
import { printable, printTable } from './output.ts';
import type { VoiceResult } from './voice-run.ts';
import type { VoiceRun } from './voice-summary.ts';

/** Prints a table of all tests, and the reasons of failures. */
export function printVoiceResults(results: readonly VoiceResult[]): void {
  printTable(
    [' ', 'TEST', 'PASSED', 'REPLY p50 / p95', 'CUT OFF', 'MISSED', 'UNANSWERED', 'TALK-OVER', 'JUDGE'],
    results.map(({ name, passed, figures, runs }) => [
      passed ? '✓' : '✗',
      name,
      `${runs.filter((run) => run.passed).length} of ${runs.length}${interval(figures.pass_rate)}`,
      figures.reply_ms.p50 === null ? null : `${figures.reply_ms.p50} / ${figures.reply_ms.p95} ms`,
      share(figures.cut_off_rate),
      share(figures.missed_interruption_rate),
      share(figures.unanswered_rate),
      runs.some(({ turns }) => turns) ? `${Math.round(figures.talk_over_ms.value)} ms` : null,
      judgeOf(runs, figures.judge_rate),
    ]),
  );
  for (const { name, runs } of results)
    for (const run of runs)
      for (const reason of reasonsOf(run)) console.log(printable(`✗ ${name}, run ${run.run}: ${reason}`));
}

/** The results as JUnit XML. */
export function voiceJunit(results: readonly VoiceResult[]): string {
  return junitXml(results.map(({ name, runs }) => ({ name, cases: runs.map(caseOf) })));
}

function caseOf(run: VoiceRun): JunitCase {
  const failed = run.checks.filter(({ passed }) => !passed);
  return {
    name: `run ${run.run}`,
    seconds: run.seconds,
    failure: run.error === null && failed.length > 0 ? reasonsOf(run).join('\n') : null,
    error: run.error,
    output: figuresOf(run),
  };
}

function reasonsOf(run: VoiceRun): string[] {
  if (run.error !== null) return [run.error];
  return run.checks
    .filter(({ passed }) => !passed)
    .map(({ name, expected, observed }) => `${name}: ${observed}, expected: ${expected}`);
}

function figuresOf({
  session_id,
  turns,
  ended_by,
  criteria,
  judged,
  goals,
  caller_late_ms,
}: VoiceRun): string {
  if (!turns) return '';
  const replies = turns.replyMs.map((ms) => Math.round(ms)).join(', ');
  return [
    `session ${session_id}, ended by the ${ended_by}`,
    `replies after ${replies || 'no'} ms; ${turns.unanswered} of ${turns.asked} lines without one`,
    `cut-offs ${turns.cutOffs.length}, missed interruptions ${turns.missedInterruptions.length} of ` +
      `${turns.stopMs.length}, both spoke for ${Math.round(turns.talkOverMs)} ms`,
    `caller late by at most ${caller_late_ms} ms`,
    ...(goals ? [`goals: ${goals.join(', ')}`] : []),
    ...Object.entries(criteria ?? {}).map(([name, result]) => `judge: ${name} ${result}`),
    ...(judged ?? []).map(({ name, result, reason }) => `judge: ${name} ${result}: ${reason}`),
  ].join('\n');
}

function judgeOf(runs: readonly VoiceRun[], rate: Estimate): string | null {
  const verdicts = runs.flatMap(({ criteria, judged }) => [
    ...Object.values(criteria ?? {}),
    ...(judged ?? []).map(({ result }) => result),
  ]);
  const met = verdicts.filter((verdict) => verdict === 'success').length;
  return verdicts.length === 0 ? null : `${met} of ${verdicts.length} met${interval(rate)}`;
}

function share(estimate: Estimate): string | null {
  // Nothing to count.
  if (estimate.low === null) return null;
  return `${percent(estimate.value)} %${interval(estimate)}`;
}

function interval({ low, high }: Estimate): string {
  return low === null || high === null ? '' : ` (${percent(low)} to ${percent(high)} %)`;
}

function percent(value: number): string {
  return (value * 100).toFixed(0);
}
