/** `parley numbers`: lists, buys and releases the phone numbers of a team. */
import type { Command } from 'commander';
import { findAgentId } from './agent-sync.ts';
import { CommandError } from './api.ts';
import type { CommandContext } from './command-context.ts';
import { printTable, show } from './output.ts';

const URL = '/v1/agent/phone-numbers';

/** Adds the commands. */
export function addNumberCommands(program: Command, common: CommandContext): void {
  const numbers = program.command('numbers').description('the phone numbers that reach agents');
  numbers
    .command('list')
    .description('list them with their agents')
    .action(async () => {
      const rows = await common.api().all(URL, 'phone_numbers');
      show(rows, common, () =>
        printTable(
          ['NUMBER', 'STATUS', 'KIND', 'AGENT', 'LABEL'],
          rows.map((row) => [row.phone_number, row.status, row.provider, row.agent_id ?? '', row.label]),
        ),
      );
    });
  numbers
    .command('buy <number>')
    .description('buy a number, in the form +15550100007')
    .option('--agent <agent>', 'id or name of the agent that answers it')
    .action(async (number: string, { agent }: { readonly agent?: string }) => {
      const api = common.api();
      const owner = agent === undefined ? {} : { agent_id: await findAgentId(api, agent) };
      const record = await api.post(URL, { provider: 'managed', phone_number: number, ...owner });
      show(record, common, () => console.log(`${record.phone_number} is ${record.status}`));
    });
  numbers
    .command('release <number>')
    .description('give a number back')
    .action(async (number: string) => {
      const api = common.api();
      const rows = await api.all(URL, 'phone_numbers');
      const record = rows.find((row) => row.phone_number === number);
      if (!record) throw new CommandError(`this account has no number ${number}; see parley numbers list`);
      await api.send('DELETE', `${URL}/${record.phone_number_id}`);
      show(null, common, () => console.log(`${number} is released`));
    });
}
