/** The judged part of `parley rehearse`: what it would cost, the confirmation, and what it has found. */
import { createInterface } from 'node:readline/promises';
import type { JudgedEstimate, JudgedFigures, JudgedResult } from '#protocol/judged-rehearsal.ts';
import type { TurnAnswer } from '#protocol/judged-turns.ts';
import { type Api, CommandError } from './api.ts';
import type { CommandContext } from './command-context.ts';
import { printable, printFacts, printTable, shareText } from './output.ts';

/** The judge as the API takes it. */
export interface JudgeOptions {
  /** Dollars. */
  readonly max_cost: string;
  readonly turns?: number;
  readonly model?: string;
}

/**
 * Shows what the judge would cost, and asks whether to spend it. Throws `CommandError` if the answer is no,
 * and where there is no one to ask.
 */
export async function confirmJudge(
  common: CommandContext,
  { api, path, isConfirmed }: { readonly api: Api; readonly path: string; readonly isConfirmed: boolean },
  wanted: object,
): Promise<void> {
  const estimate: JudgedEstimate = await api.post(`${path}/estimate`, wanted);
  if (!common.json) printEstimate(estimate);
  if (isConfirmed) return;
  if (!process.stdin.isTTY || common.json)
    throw new CommandError('Nothing was asked and nothing was spent: add --yes to go on');
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`Spend at most ${estimate.max_cost} dollars? [y/N] `);
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('Nothing was asked and nothing was spent');
}

function printEstimate(estimate: JudgedEstimate): void {
  printFacts({
    'turns found': `${estimate.turns_found} in ${estimate.calls_read} of ${estimate.calls_found} calls`,
    'turns to ask': estimate.turns_sampled,
    'asked again': `${estimate.turns_again}, of the version that ran the call`,
    model: estimate.model,
    judge: estimate.judge_model,
    tokens: `about ${estimate.input_tokens} read, ${estimate.output_tokens} written`,
    'expected cost': `${estimate.cost} dollars${estimate.is_priced ? '' : ' (a price is not known)'}`,
    'never more than': `${estimate.max_cost} dollars`,
  });
  console.log('');
}

/** How far the judge is. */
export function judgeProgress({ turns_judged, turns_sampled, cost }: JudgedResult): string {
  return `${turns_judged} of ${turns_sampled} turns judged, ${cost} dollars spent`;
}

/** Prints what the judge has found. */
export function printJudged(judged: JudgedResult, url: string): void {
  const { all, by_language, by_number, noise, not_judged, to_read } = judged;
  console.log(
    `\n${judged.turns_judged} of ${judged.turns_sampled} turns judged by ${judged.judge_model}, for ` +
      `${judged.cost} dollars of ${judged.max_cost}`,
  );
  if (judged.cost_unknown !== '0.00')
    console.log(`At most ${judged.cost_unknown} dollars more for answers that never came`);
  if (judged.stopped !== null) console.log(`Stopped: ${printable(reasonOf(judged.stopped))}`);
  for (const [count, what] of [
    [not_judged.not_asked, 'Turns not asked'],
    [not_judged.failed, 'Turns whose model or judge gave no usable answer'],
    [not_judged.gone, 'Turns whose call can no longer be read'],
  ] as const)
    if (count > 0) console.log(`${what}: ${count}`);
  if (all.turns > 0) {
    console.log('');
    printTable(['THE DRAFT’S ANSWER IS', 'TURNS', 'SHARE (95 %)'], figuresOf(all));
    for (const [title, groups] of [
      ['LANGUAGE', by_language],
      ['NUMBER', by_number],
    ] as const)
      if (groups.length > 1) printGroups(title, groups);
  }
  if (noise.turns > 0)
    console.log(`\nThe version of the call, asked twice, differs from itself in ${shareText(noise.share)}`);
  for (const turn of to_read) {
    const at = turn.second === null ? '' : `?t=${turn.second.toFixed(1)}`;
    console.log(`\n${turn.verdict}: ${printable(turn.reason)}\n${url}/console/calls/${turn.session_id}${at}`);
    console.log(`  call:  ${answerOf(turn.call_answer)}\n  draft: ${answerOf(turn.draft_answer)}`);
  }
  console.log('\nEach turn is judged alone: what the caller would have said next is not known.');
}

function figuresOf(all: JudgedFigures): (readonly unknown[])[] {
  return [
    ['the same', all.same, shareText(all.same_share)],
    ['better', all.better, shareText(all.better_share)],
    ['worse', all.worse, shareText(all.worse_share)],
    ['different, neither better', all.different, shareText(all.different_share)],
  ];
}

function printGroups(title: string, groups: JudgedResult['by_number']): void {
  console.log('');
  printTable(
    [title, 'TURNS', 'BETTER', 'WORSE'],
    groups.map(({ name, turns, better_share, worse_share }) => [
      name,
      turns,
      shareText(better_share),
      shareText(worse_share),
    ]),
  );
}

function reasonOf(stopped: string): string {
  return stopped === 'max_cost' ? 'the next question could have cost more than was left' : stopped;
}

function answerOf({ text, calls }: TurnAnswer): string {
  const parts = [text, ...calls.map((call) => `[${call.tool_name} ${call.arguments}]`)];
  return printable(parts.filter((part) => part !== '').join(' '));
}
