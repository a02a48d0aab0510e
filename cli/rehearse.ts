/** `parley rehearse`: the agent's last calls under its draft, before it is published. */
import { type Command, InvalidArgumentError } from 'commander';
import { parseMoney } from '#base/money.ts';
import { LIMITS } from '#config/limits.ts';
import { CommandError } from './api.ts';
import { countUpTo } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { rehearse } from './rehearse-run.ts';

interface RehearseOptions {
  readonly calls?: number;
  readonly days: number;
  readonly maxCost?: string;
  readonly turns?: number;
  readonly judgeModel?: string;
  readonly yes?: boolean;
}

/** Adds the command. */
export function addRehearseCommand(program: Command, common: CommandContext): void {
  program
    .command('rehearse <agent>')
    .description(
      'run an agent’s latest calls again under its draft: calls that would have gone another way, callers ' +
        'cut off or spared, waiting saved, and the calls to listen to',
    )
    .option(
      '--calls <count>',
      'most calls to run, a sample if there are more',
      countUpTo(LIMITS.rehearsedCalls),
    )
    .option('--days <count>', 'calls of so many days', countUpTo(LIMITS.rehearsalDays), 30)
    .option(
      '--max-cost <dollars>',
      'ask the draft’s model about single turns again and have a judge compare, for at most so much',
      dollars,
    )
    .option('--turns <count>', 'most turns to ask again', countUpTo(LIMITS.judgedTurns))
    .option('--judge-model <id>', 'the judge; default: the draft’s own model')
    .option('--yes', 'spend it without a question')
    .action((agent: string, options: RehearseOptions) => rehearse(common, agent, wantedBy(options)));
}

function wantedBy({ calls, days, maxCost, turns, judgeModel, yes }: RehearseOptions) {
  const scope = { ...(calls !== undefined && { calls }), days };
  if (maxCost === undefined) {
    if (turns !== undefined || judgeModel !== undefined)
      throw new CommandError('--turns and --judge-model need --max-cost');
    return scope;
  }
  const judge = {
    max_cost: maxCost,
    ...(turns !== undefined && { turns }),
    ...(judgeModel !== undefined && { model: judgeModel }),
  };
  return { ...scope, judge, isConfirmed: yes === true };
}

function dollars(text: string): string {
  if ((parseMoney(text) ?? 0) > 0) return text;
  throw new InvalidArgumentError('It must be an amount of dollars such as 1.00.');
}
