/** `parley rehearse`: the agent's last calls under its draft, before it is published. */
import type { Command } from 'commander';
import { LIMITS } from '#config/limits.ts';
import { countUpTo } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { rehearse } from './rehearse-run.ts';

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
    .action((agent: string, options: { calls?: number; days: number }) => rehearse(common, agent, options));
}
