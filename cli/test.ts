/** `parley test`: runs an agent's tests, for instance in a build. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { findAgentId } from './agent-sync.ts';
import { EXIT, type Json } from './api.ts';
import { countUpTo } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { show, showProgress } from './output.ts';

const POLL_MS = 500;
const MAX_REPEATS = 20;

/** Adds the command. */
export function addTestCommand(program: Command, common: CommandContext): void {
  program
    .command('test <agent>')
    .description(`run an agent’s tests against its draft; exit ${EXIT.failed} unless all of them pass`)
    .option('--test <ids...>', 'ids of the tests to run; default: all')
    .option('--repeat <count>', 'how often to run each test', countUpTo(MAX_REPEATS))
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
  let batch: Json;
  do {
    if (batch) await sleep(POLL_MS);
    batch = await api.get(`/v1/agent/agents/${agentId}/test-batches/${id}`);
    showProgress(`${batch.completed} of ${batch.run_count} runs finished`);
  } while (batch.status !== 'completed');
  showProgress('');
  const runs = await api.all(`/v1/agent/test-runs?batch_id=${id}`, 'test_runs');
  const names = new Map<string, string>();
  for await (const test of api.list('/v1/agent/tests', 'tests')) names.set(test.test_id, test.name);
  show({ ...batch, runs }, common, () => {
    for (const run of runs)
      console.log(
        `${run.status === 'passed' ? '✓' : '✗'} ${names.get(run.test_id) ?? run.test_id}: ` +
          `${run.status}${reasonOf(run)}`,
      );
    console.log(`${batch.passed} passed, ${batch.failed} failed, ${batch.errors} errors`);
  });
  if (batch.passed !== batch.run_count) process.exitCode = EXIT.failed;
}

function reasonOf(run: Json): string {
  const why = run.error ?? (run.status === 'passed' ? null : run.judge_reasoning);
  return why ? ` (${why})` : '';
}
