/**
 * `parley pbx`: connects a PBX by a registration, lists the registrations with their state, and removes one.
 */
import type { Command } from 'commander';
import { CommandError } from './api.ts';
import type { CommandContext } from './command-context.ts';
import { printTable, show } from './output.ts';

const URL = '/v1/agent/sip-registrations';

interface ConnectOptions {
  readonly password?: string;
  readonly number?: string;
  readonly proxy?: string;
  readonly transport?: string;
  readonly authUsername?: string;
}

/** Adds the commands. */
export function addPbxCommands(program: Command, common: CommandContext): void {
  const pbx = program.command('pbx').description('registrations at PBXs and carriers');
  pbx
    .command('list')
    .description('list them with their state')
    .action(async () => {
      const rows = await common.api().all(URL, 'sip_registrations');
      show(rows, common, () =>
        printTable(
          ['ID', 'ACCOUNT', 'STATE', 'UNTIL', 'LAST ERROR'],
          rows.map((row) => [
            row.sip_registration_id,
            `${row.username}@${row.registrar}`,
            row.state,
            row.registered_until ?? '',
            row.last_error?.message ?? '',
          ]),
        ),
      );
    });
  pbx
    .command('connect <account>')
    .description('register as user@host; the password is read from PBX_PASSWORD if --password is absent')
    .option('--password <password>', 'password of the account')
    .option('--number <number>', 'imported number that the calls belong to, in the form +4930123456')
    .option('--proxy <host>', 'host or host:port of an outbound proxy')
    .option('--transport <transport>', 'udp, tcp or tls; by default the DNS records decide')
    .option('--auth-username <name>', 'name for the password, if it is not the user')
    .action(async (account: string, options: ConnectOptions) => {
      const record = await common.api().post(URL, await bodyOf(account, options, common));
      show(record, common, () =>
        console.log(`${record.sip_registration_id} is ${record.state}; see parley pbx list`),
      );
    });
  pbx
    .command('disconnect <id>')
    .description('end a registration')
    .action(async (id: string) => {
      await common.api().send('DELETE', `${URL}/${id}`);
      show(null, common, () => console.log(`${id} is over`));
    });
}

async function bodyOf(account: string, options: ConnectOptions, common: CommandContext) {
  const at = account.lastIndexOf('@');
  const password = options.password ?? process.env['PBX_PASSWORD'];
  if (at < 1) throw new CommandError('the account must have the form user@host');
  if (!password) throw new CommandError('no password: set PBX_PASSWORD or use --password');
  return {
    registrar: account.slice(at + 1),
    username: account.slice(0, at),
    password,
    ...(options.proxy === undefined ? {} : { outbound_proxy: options.proxy }),
    ...(options.transport === undefined ? {} : { transport: options.transport }),
    ...(options.authUsername === undefined ? {} : { auth_username: options.authUsername }),
    ...(options.number === undefined ? {} : { phone_number_id: await numberId(options.number, common) }),
  };
}

async function numberId(number: string, common: CommandContext): Promise<string> {
  const rows = await common.api().all('/v1/agent/phone-numbers', 'phone_numbers');
  const record = rows.find((row) => row.phone_number === number);
  if (!record) throw new CommandError(`this account has no number ${number}; see parley numbers list`);
  return record.phone_number_id;
}
