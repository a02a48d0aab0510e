/**
 * `parley wallet`, `parley erase` and `parley test`: credit and its verification, a person's erasure, and
 * agent tests in a build.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { findAgentId } from './agent-sync.ts';
import { EXIT } from './api.ts';
import { countUpTo } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { printFacts, printTable, show, showProgress } from './output.ts';

const POLL_MS = 500;
const MOST_REPEATS = 20;

// biome-ignore lint/suspicious/noExplicitAny: rows of the API, whose schemas are the API's own
type Row = any;

/** Adds the commands. */
export function addBookCommands(program: Command, common: CommandContext): void {
  const wallet = program.command('wallet').description('credit');
  wallet
    .command('show [user]')
    .description('credit of the key’s own account, or of a user (operator)')
    .action(async (user = 'self') => {
      const record = await common.api().get(`/wallet/${encodeURIComponent(user)}/api-credit`);
      show(record, common, () =>
        printFacts({
          User: record.user_id,
          Credit: `$${record.credit}`,
          'Topped up': `$${record.cumulative_top_up}`,
          Changed: record.updated_at,
        }),
      );
    });
  wallet
    .command('verify')
    .description(
      `prove that every ledger adds up to its balance, without gaps; exit ${EXIT.notRight} and list what ` +
        'does not (operator)',
    )
    .action(async () => {
      const proof = await common.api().get('/admin/wallets/verify');
      show(proof, common, () => {
        for (const { user_id, seq, problem } of proof.flaws)
          console.log(`✗ user ${user_id}, entry ${seq}: ${problem}`);
        if (proof.flaws.length === 0)
          console.log(
            `✓ ${proof.entries} entries of ${proof.users} users: every balance is the sum of its entries, ` +
              'no entry is missing',
          );
      });
      if (proof.flaws.length > 0) process.exitCode = EXIT.notRight;
    });

  program
    .command('erase')
    .description('erase everything stored about one person, and list what was removed; cannot be undone')
    .option('--end-user <id>', 'the end_user_id the sessions were created with')
    .option('--phone <number>', 'the number they called from or were called at, such as +14155550123')
    .action(async (options: { endUser?: string; phone?: string }) => {
      const erased = await common
        .api()
        .post('/v1/agent/erasures', { end_user_id: options.endUser, phone_number: options.phone });
      show(erased, common, () =>
        printTable(
          ['REMOVED', 'COUNT'],
          Object.entries(erased).map(([what, count]) => [what.replaceAll('_', ' '), count]),
        ),
      );
    });

  program
    .command('test <agent>')
    .description(`run an agent’s tests against its draft; exit ${EXIT.notRight} unless all pass`)
    .option('--test <ids...>', 'only these')
    .option('--repeat <count>', 'run each this many times', countUpTo(MOST_REPEATS))
    .action(async (idOrName: string, options: TestOptions) => runTests(common, idOrName, options));
}

interface TestOptions {
  readonly test?: string[];
  readonly repeat?: number;
}

async function runTests(common: CommandContext, idOrName: string, options: TestOptions): Promise<void> {
  const api = common.api();
  const agentId = await findAgentId(api, idOrName);
  const { batch_id: id } = await api.post(`/v1/agent/agents/${agentId}/tests/run`, {
    ...(options.test ? { test_ids: options.test } : {}),
    ...(options.repeat === undefined ? {} : { repeat_count: options.repeat }),
  });
  let batch: Row;
  do {
    if (batch) await sleep(POLL_MS);
    batch = await api.get(`/v1/agent/agents/${agentId}/test-batches/${id}`);
    showProgress(`${batch.completed} of ${batch.run_count} runs done`);
  } while (batch.status !== 'completed');
  showProgress('');
  const runs = await api.all(`/v1/agent/test-runs?batch_id=${id}`, 'test_runs');
  const names = new Map<string, string>();
  for await (const test of api.list('/v1/agent/tests', 'tests')) names.set(test.test_id, test.name);
  show({ ...batch, runs }, common, () => {
    for (const run of runs)
      console.log(
        `${run.status === 'passed' ? '✓' : '✗'} ${names.get(run.test_id) ?? run.test_id}: ` +
          `${run.status}${because(run)}`,
      );
    console.log(`${batch.passed} passed, ${batch.failed} failed, ${batch.errors} errors`);
  });
  if (batch.passed !== batch.run_count) process.exitCode = EXIT.notRight;
}

function because(run: Row): string {
  const why = run.error ?? (run.status === 'passed' ? null : run.judge_reasoning);
  return why ? ` (${why})` : '';
}
