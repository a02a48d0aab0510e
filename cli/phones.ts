/** `parley phones`: makes phones that can register here, lists them with where they are, and removes them. */
import type { Command } from 'commander';
import { CommandError } from './api.ts';
import type { CommandContext } from './command-context.ts';
import { printTable, show } from './output.ts';

const URL = '/v1/agent/sip-phones';

interface AddOptions {
  readonly name?: string;
  readonly onlyRings?: boolean;
}

/** Adds the commands. */
export function addPhoneCommands(program: Command, common: CommandContext): void {
  const phones = program.command('phones').description('phones and softphones that register here');
  phones
    .command('list')
    .description('list them with where they are registered')
    .action(async () => {
      const rows = await common.api().all(URL, 'sip_phones');
      show(rows, common, () =>
        printTable(
          ['EXTENSION', 'NAME', 'USERNAME', 'REGISTERED', 'UNTIL', 'LAST WRONG PASSWORD'],
          rows.map((row) => [
            row.extension,
            row.display_name,
            row.username,
            row.registrations.map(describePlace).join(', '),
            row.registrations.map((place: { registered_until: string }) => place.registered_until).at(-1) ??
              '',
            row.last_refused ? `${row.last_refused.at} from ${row.last_refused.source_address}` : '',
          ]),
        ),
      );
    });
  phones
    .command('add <extension>')
    .description('make a phone; prints its username and password, which is shown only now')
    .option('--name <name>', 'name of the person')
    .option('--only-rings', 'the phone may not call agents')
    .action(async (extension: string, options: AddOptions) => {
      const record = await common.api().post(URL, {
        extension,
        ...(options.name === undefined ? {} : { display_name: options.name }),
        ...(options.onlyRings ? { may_call_agents: false } : {}),
      });
      show(record, common, () => printAccount(record));
    });
  phones
    .command('password <extension>')
    .description('make a new password; devices with the old one must be changed')
    .action(async (extension: string) => {
      const record = await common
        .api()
        .post(`${URL}/${await phoneId(extension, common)}/password`, undefined);
      show(record, common, () => printAccount(record));
    });
  phones
    .command('remove <extension>')
    .description('remove a phone')
    .action(async (extension: string) => {
      await common.api().send('DELETE', `${URL}/${await phoneId(extension, common)}`);
      show(null, common, () => console.log(`${extension} is removed`));
    });
}

function printAccount(record: { extension: string; username: string; password: string }): void {
  printTable(['EXTENSION', 'USERNAME', 'PASSWORD'], [[record.extension, record.username, record.password]]);
  console.log(
    'The password is not shown again. docs/phones.md says how to set up baresip, Linphone and desk phones.',
  );
}

function describePlace(place: { source_address: string; transport: string; user_agent: string }): string {
  const device = place.user_agent === '' ? '' : ` ${place.user_agent}`;
  return `${place.source_address}/${place.transport}${device}`;
}

async function phoneId(extension: string, common: CommandContext): Promise<string> {
  const [row] = await common.api().all(`${URL}?extension=${encodeURIComponent(extension)}`, 'sip_phones');
  if (!row) throw new CommandError(`this account has no phone ${extension}; see parley phones list`);
  return row.sip_phone_id;
}
