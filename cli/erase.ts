/** `parley erase`: erases everything stored about one person. */
import type { Command } from 'commander';
import type { CommandContext } from './command-context.ts';
import { printTable, show } from './output.ts';

/** Adds the command. */
export function addEraseCommand(program: Command, common: CommandContext): void {
  program
    .command('erase')
    .description(
      'erase everything stored about one person, and print how many records were removed; irreversible',
    )
    .option('--end-user <id>', 'the end_user_id of the person’s sessions')
    .option('--phone <number>', 'the person’s phone number, such as +14155550123')
    .action(async (options: { endUser?: string; phone?: string }) => {
      const erased = await common
        .api()
        .post('/v1/agent/erasures', { end_user_id: options.endUser, phone_number: options.phone });
      show(erased, common, () =>
        printTable(
          ['REMOVED', 'COUNT'],
          Object.entries(erased).map(([kind, count]) => [kind.replaceAll('_', ' '), count]),
        ),
      );
    });
}
