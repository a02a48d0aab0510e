/** `parley regret`: needless waiting and callers cut off, by version and day (docs/regret.md). */
import type { Command } from 'commander';
import { LIMITS } from '#config/limits.ts';
import type { RegretFigures, RegretRecord } from '#protocol/regret.ts';
import { findAgentId } from './agent-sync.ts';
import type { Json } from './api.ts';
import { countUpTo } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { estimateText, printTable, show } from './output.ts';

const DAY_MS = 24 * 60 * 60_000;

/** Adds the command. */
export function addRegretCommand(program: Command, common: CommandContext): void {
  program
    .command('regret <agent>')
    .description('what an agent’s callers waited needlessly, and who was cut off, by version and day')
    .option('--days <count>', 'calls of so many days', countUpTo(LIMITS.regretDays), 30)
    .action(async (agent: string, { days }: { readonly days: number }) => {
      const api = common.api();
      const path = `/v1/agent/agents/${encodeURIComponent(await findAgentId(api, agent))}`;
      const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
      const [from, to] = [dayOf(Date.now() - (days - 1) * DAY_MS), dayOf(Date.now())];
      const record: RegretRecord = await api.get(`${path}/regret?from=${from}&to=${to}`);
      const learner = await api.getUnless('learning_not_set', `${path}/learning`);
      show({ ...record, learning: learner }, common, () => {
        printRegret(record);
        if (learner) printLearner(learner);
      });
    });
}

function printRegret({ all, by_version, by_day, measured_until }: RegretRecord): void {
  if (all.turns === 0) {
    console.log('No call of these days is measured yet: ended calls with a flight log are, within minutes.');
    return;
  }
  console.log(`${all.calls} calls measured, to ${measured_until}; ${all.left_out} left out`);
  console.log('');
  const heads = ['TURNS', 'NEEDLESS WAIT', 'CUT OFF IN 100', 'AT MOST', 'UNKNOWN'];
  printTable(
    ['VERSION', ...heads],
    [...by_version.map((one) => [String(one.version_number), ...cells(one)]), ['all', ...cells(all)]],
  );
  console.log('');
  printTable(
    ['DAY', 'VERSION', ...heads],
    by_day.map((one) => [one.day, String(one.version_number), ...cells(one)]),
  );
}

function cells(one: RegretFigures): string[] {
  return [
    String(one.turns),
    `${estimateText(one.needless_wait_ms, 0)} ms`,
    estimateText(one.cut_offs, 1),
    one.most_cut_offs.value.toFixed(1),
    `${Math.round(one.unknown_share * 100)} %`,
  ];
}

/** Prints the state of a learner and its latest steps. */
export function printLearner(learner: Json): void {
  const { status, why, cut_off_bound, wait_min_ms, wait_max_ms } = learner;
  console.log('');
  console.log(
    `${status === 'paused' ? 'Learning is paused' : 'It learns'}, within ${wait_min_ms} to ` +
      `${wait_max_ms} ms and ${cut_off_bound} callers cut off in 100 turns: ${why}`,
  );
  for (const entry of learner.history.slice(0, 10)) console.log(`  ${entry.at}  ${entry.did}  ${entry.why}`);
}
