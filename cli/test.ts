/** `parley test`: runs an agent's tests, in writing or by voice, for instance in a build. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { MOST_VOICE_RUNS } from '#protocol/voice-test.ts';
import { findAgentId } from './agent-sync.ts';
import { CommandError, EXIT, type Json } from './api.ts';
import { countUpTo } from './arguments.ts';
import type { CommandContext } from './command-context.ts';
import { show, showProgress } from './output.ts';
import { testByVoice, type VoiceTestOptions } from './voice-tests.ts';

const POLL_MS = 500;
/** Of a test in writing; one by voice may be repeated more often. */
const MAX_REPEATS = 20;
/** Calls at a time; more are more than the previews of an account. */
const MAX_PARALLEL = 10;

/** Adds the command. */
export function addTestCommand(program: Command, common: CommandContext): void {
  program
    .command('test <agent>')
    .description(
      `run an agent’s tests against its draft, in writing or by phone; exit ${EXIT.failed} unless all pass`,
    )
    .option('--test <ids...>', 'ids of the tests in writing to run; default: all')
    .option('--voice <files...>', 'phone the agent as these files and folders of voice tests say')
    .option(
      '--repeat <count>',
      `how often to run each test; in writing at most ${MAX_REPEATS} times`,
      countUpTo(MOST_VOICE_RUNS),
    )
    .option('--against <version>', 'with --voice: draft (default), published or the number of a version')
    .option('--parallel <count>', 'with --voice: calls at a time', countUpTo(MAX_PARALLEL), 1)
    .option('--junit <file>', 'with --voice: write the results as JUnit XML')
    .option('--sip <host:port>', 'with --voice: where the product accepts calls; default: where it says')
    .option('--from <address>', 'with --voice: own IP address; default: one that reaches the product')
    .action(async (idOrName: string, { voice, ...options }: TestOptions) => {
      if (voice && options.test)
        throw new CommandError('--test names tests in writing: leave it out with --voice');
      if (voice) await testByVoice(common, idOrName, { ...options, voice });
      else await runTests(common, idOrName, options);
    });
}

interface TestOptions extends Omit<VoiceTestOptions, 'voice'> {
  readonly test?: string[];
  readonly voice?: string[];
}

async function runTests(common: CommandContext, idOrName: string, options: TestOptions): Promise<void> {
  const needsVoice = (['against', 'junit', 'sip', 'from'] as const).find(
    (name) => options[name] !== undefined,
  );
  if (needsVoice) throw new CommandError(`--${needsVoice} needs --voice and files of voice tests`);
  if ((options.repeat ?? 1) > MAX_REPEATS)
    throw new CommandError(`without --voice, --repeat takes at most ${MAX_REPEATS}`);
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
