/** `parley numbers`: lists, buys, connects and releases the phone numbers of a team. */
import type { Command } from 'commander';
import { findAgentId } from './agent-sync.ts';
import { type Api, CommandError } from './api.ts';
import type { CommandContext } from './command-context.ts';
import { printTable, show } from './output.ts';

const URL = '/v1/agent/phone-numbers';

interface TwilioOptions {
  readonly account?: string;
  readonly token?: string;
  readonly agent?: string;
  readonly replace?: boolean;
}

interface VendorOptions {
  readonly account?: string;
  readonly secret?: string;
  readonly agent?: string;
}

/** The fields of an account, by vendor: its id, if it has one, and its secret. */
const FIELDS: Readonly<Record<string, readonly [string | null, string]>> = {
  telnyx: [null, 'public_key'],
  vonage: ['api_key', 'signature_secret'],
  plivo: ['auth_id', 'auth_token'],
};

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
      const answeredBy = await agentField(api, agent);
      const record = await api.post(URL, { provider: 'managed', phone_number: number, ...answeredBy });
      show(record, common, () => console.log(`${record.phone_number} is ${record.status}`));
    });
  numbers
    .command('connect-twilio <number>')
    .description('have the calls to a number of your Twilio account come here, without a trunk')
    .option('--account <sid>', 'the account; read from TWILIO_ACCOUNT_SID if absent')
    .option('--token <token>', 'its token; read from TWILIO_AUTH_TOKEN if absent')
    .option('--agent <agent>', 'id or name of the agent that answers it')
    .option('--replace', 'also if its calls go elsewhere now')
    .action(async (number: string, options: TwilioOptions) => {
      const api = common.api();
      const record = await api.post(`${URL}/connect-twilio`, await twilioBody(api, number, options));
      show(record, common, () => console.log(`calls to ${record.phone_number} come here now`));
    });
  numbers
    .command('connect <vendor> <number>')
    .description('take the calls to a number of your account at telnyx, vonage or plivo, without a trunk')
    .option('--account <id>', 'vonage: the API key; plivo: the auth ID')
    .option(
      '--secret <secret>',
      'telnyx: the public key; vonage: the signature secret; plivo: the auth token',
    )
    .option('--agent <agent>', 'id or name of the agent that answers it')
    .action(async (vendor: string, number: string, options: VendorOptions) => {
      const api = common.api();
      const record = await api.post(
        `${URL}/connect-stream`,
        await vendorBody(api, { vendor, number, ...options }),
      );
      const { voice_url: address } = record.media_stream;
      show(record, common, () => console.log(`enter ${address} at ${vendor}, with the method POST`));
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

async function twilioBody(api: Api, number: string, { agent, replace = false, ...given }: TwilioOptions) {
  const account = given.account ?? process.env['TWILIO_ACCOUNT_SID'];
  const token = given.token ?? process.env['TWILIO_AUTH_TOKEN'];
  if (!account || !token)
    throw new CommandError('no account: set TWILIO_ACCOUNT_SID and TWILIO_AUTH_TOKEN, or use the options');
  return {
    account_sid: account,
    auth_token: token,
    phone_number: number,
    replace,
    ...(await agentField(api, agent)),
  };
}

async function vendorBody(
  api: Api,
  {
    vendor,
    number,
    account,
    secret,
    agent,
  }: VendorOptions & { readonly vendor: string; readonly number: string },
) {
  const [id, key] = FIELDS[vendor] ?? [];
  if (key === undefined) throw new CommandError('the vendor must be telnyx, vonage or plivo');
  if (!secret || (id && !account))
    throw new CommandError(`${vendor} needs --secret${id ? ' and --account' : ''}; see --help`);
  return {
    vendor,
    phone_number: number,
    [key]: secret,
    ...(id && { [id]: account }),
    ...(await agentField(api, agent)),
  };
}

async function agentField(api: Api, agent: string | undefined): Promise<{ readonly agent_id?: string }> {
  return agent === undefined ? {} : { agent_id: await findAgentId(api, agent) };
}
