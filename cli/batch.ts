/**
 * `parley batch` and `parley do-not-call`: batches of calls, their progress, and the do-not-call list
 * (docs/batch-calls.md).
 */
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { findAgentId } from './agent-sync.ts';
import { type Api, CommandError, EXIT, type Json } from './api.ts';
import { readGiven, readGivenJson } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { printFacts, printTable, show } from './output.ts';

const URL = '/v1/agent/batch-calls';
const LIST_URL = '/v1/agent/do-not-call';
const POLL_MS = 2_000;

interface StartOptions {
  readonly agent: string;
  readonly from: string;
  readonly name?: string;
  readonly settings?: string;
  readonly startAt?: string;
  readonly disclosure?: string;
  readonly watch?: boolean;
}

/** Adds the commands. */
export function addBatchCommands(program: Command, common: CommandContext): void {
  const batch = program.command('batch').description('batches: calls to every number of a list');
  batch
    .command('start <csv>')
    .description('call the numbers of a CSV file (column to_number; other columns are dynamic variables)')
    .requiredOption('--agent <agent>', 'the agent that calls, by id or name')
    .requiredOption('--from <number>', 'the phone number that calls, or its id')
    .option('--name <name>', 'name of the batch; default: the file’s name')
    .option('--start-at <time>', 'start no earlier than this, such as 2026-11-23T09:00:00Z')
    .option('--disclosure <text>', 'text the agent says first')
    .option(
      '--settings <json>',
      'a file with schedule, pacing, retry, disclosure and opt_out (docs/batch-calls.md)',
    )
    .option('--watch', `show progress until the batch ends; exit ${EXIT.failed} unless every number answered`)
    .action(async (file: string, options: StartOptions) => {
      const api = common.api();
      const started = await api.form('POST', URL, await formOf(api, file, options));
      if (options.watch) await watch(common, api, started.batch_call_id);
      else show(started, common, () => printBatch(started));
    });
  addViews(batch, common);
  for (const [change, description] of [
    ['pause', 'pause a batch; calls in progress continue'],
    ['resume', 'resume a paused batch'],
    ['cancel', 'cancel a batch; calls in progress continue'],
  ] as const)
    batch
      .command(`${change} <batch>`)
      .description(description)
      .action(async (id: string) => {
        const record = await common.api().post(`${addressOf(id)}/${change}`);
        show(record, common, () => printBatch(record));
      });
  addDoNotCallCommands(program, common);
}

function addViews(batch: Command, common: CommandContext): void {
  batch
    .command('list')
    .description('list them, newest first')
    .action(async () => {
      const { batch_calls: rows } = await common.api().get(URL);
      show(rows, common, () =>
        printTable(
          ['ID', 'CREATED', 'STATUS', 'DONE', 'NAME'],
          rows.map((row: Json) => [
            row.batch_call_id,
            row.created_at,
            statusOf(row),
            `${doneOf(row)}/${row.row_count}`,
            row.name,
          ]),
        ),
      );
    });
  batch
    .command('show <batch>')
    .description('show the progress of a batch')
    .option('--watch', 'follow it until the batch ends')
    .action(async (id: string, options: { readonly watch?: boolean }) => {
      const api = common.api();
      if (options.watch) await watch(common, api, id);
      else {
        const record = await api.get(addressOf(id));
        show(record, common, () => printBatch(record));
      }
    });
  batch
    .command('rows <batch>')
    .description('list the numbers of a batch with their states and calls')
    .option('--state <state>', 'only numbers in this state, such as busy')
    .action(async (id: string, { state }: { readonly state?: string }) => {
      const rows = await common
        .api()
        .all(
          `${addressOf(id)}/rows${state === undefined ? '' : `?state=${encodeURIComponent(state)}`}`,
          'rows',
        );
      show(rows, common, () =>
        printTable(
          ['LINE', 'NUMBER', 'STATE', 'CALLS', 'SESSION', 'NOTE'],
          rows.map((row) => [
            row.line,
            row.to_number,
            row.state,
            row.attempts.length,
            row.session_id,
            row.error ?? (row.opted_out ? 'opted out' : ''),
          ]),
        ),
      );
    });
}

function addDoNotCallCommands(program: Command, common: CommandContext): void {
  const list = program.command('do-not-call').description('the list of numbers that batches do not call');
  list
    .command('list')
    .description('list them, newest first')
    .action(async () => {
      const rows = await common.api().all(LIST_URL, 'do_not_call');
      show(rows, common, () =>
        printTable(
          ['NUMBER', 'SINCE', 'BY', 'NOTE'],
          rows.map((row) => [row.phone_number, row.created_at, row.source, row.note]),
        ),
      );
    });
  list
    .command('add <number>')
    .description('stop batches from calling a number')
    .option('--note <text>')
    .action(async (number: string, { note }: { readonly note?: string }) => {
      const record = await common
        .api()
        .post(LIST_URL, { phone_number: number, ...(note === undefined ? {} : { note }) });
      show(record, common, () => console.log(`${record.phone_number} will not be called`));
    });
  list
    .command('remove <number>')
    .description('allow batches to call a number again')
    .action(async (number: string) => {
      await common.api().send('DELETE', `${LIST_URL}/${encodeURIComponent(number)}`);
      show(null, common, () => console.log(`${number} may be called again`));
    });
}

function addressOf(id: string): string {
  return `${URL}/${encodeURIComponent(id)}`;
}

async function formOf(api: Api, file: string, options: StartOptions): Promise<FormData> {
  const form = new FormData();
  const given = options.settings === undefined ? {} : readGivenJson(options.settings);
  const settings = given as Record<string, unknown>;
  const schedule =
    options.startAt === undefined
      ? settings['schedule']
      : { ...(settings['schedule'] as object | undefined), start_at: options.startAt };
  const fields = {
    ...settings,
    ...(schedule === undefined ? {} : { schedule }),
    ...(options.disclosure === undefined ? {} : { disclosure: options.disclosure }),
  };
  for (const [name, value] of Object.entries(fields))
    form.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  form.set('agent_id', await findAgentId(api, options.agent));
  form.set('phone_number_id', await findNumberId(api, options.from));
  form.set('name', options.name ?? basename(file));
  form.set('recipients', new File([new Uint8Array(readGiven(file))], basename(file), { type: 'text/csv' }));
  return form;
}

async function findNumberId(api: Api, wanted: string): Promise<string> {
  const numbers = await api.all('/v1/agent/phone-numbers', 'phone_numbers');
  const number = numbers.find(
    ({ phone_number, phone_number_id }) => phone_number === wanted || phone_number_id === wanted,
  );
  if (!number)
    throw new CommandError(
      `there is no phone number ${wanted}: the team’s are ` +
        `${numbers.map(({ phone_number }) => phone_number).join(', ') || 'none'}`,
    );
  return number.phone_number_id;
}

/** Prints the progress of a batch whenever it changes, until it ends. */
async function watch(common: CommandContext, api: Api, id: string): Promise<void> {
  let last = '';
  for (;;) {
    const record: Json = await api.get(addressOf(id));
    const line = progressLine(record);
    if (!common.json && line !== last) console.log(line);
    last = line;
    if (record.finished_at !== null) {
      show(record, common, () => printBatch(record));
      if (record.counts.completed !== record.row_count) process.exitCode = EXIT.failed;
      return;
    }
    await sleep(POLL_MS);
  }
}

/** `12/40 done, 3 calling: 9 completed, 2 busy, 1 no answer` */
export function progressLine(record: Json): string {
  const {
    waiting: _waiting,
    calling,
    opted_out: _optedOut,
    ...ends
  } = record.counts as Record<string, number>;
  const parts = Object.entries(ends).filter(([, count]) => count > 0);
  const ended = parts.map(([state, count]) => `${count} ${state.replaceAll('_', ' ')}`).join(', ');
  const opens = record.opens_at === null ? '' : `, calls resume at ${record.opens_at}`;
  return (
    `${statusOf(record)}: ${doneOf(record)}/${record.row_count} done, ${calling} ` +
    `calling${ended === '' ? '' : `: ${ended}`}${opens}`
  );
}

function statusOf({ status, status_reason: reason }: Json): string {
  return reason === null ? status : `${status} (${reason})`;
}

function doneOf({ row_count, counts }: Json): number {
  return row_count - counts.waiting - counts.calling;
}

function printBatch(record: Json): void {
  printFacts({
    Batch: record.batch_call_id,
    Name: record.name,
    Progress: progressLine(record),
    'Opted out': record.counts.opted_out,
    Created: record.created_at,
    Started: record.started_at,
    Finished: record.finished_at,
  });
}
