/**
 * Runs agent tests in the background: places queued runs on workers, oldest first, a few of each team at a
 * time. A run whose workers die or fall silent too often (`worker-losses.ts`) becomes an `error`.
 */

import { Fault } from '#config/errors.ts';
import { type AgentTestResult, testError } from '#protocol/agent-test.ts';
import type { DurableReport, ReportEnvelope } from '#protocol/worker-link.ts';
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import { requeueLost, requeueSilent, startQueued } from '../../platform/background/queued-jobs.ts';
import { type Context, now } from '../../platform/context.ts';
import { InvalidRequest } from '../../platform/http/problems.ts';
import type { ReportOutcome } from '../../platform/report-sink.ts';
import type { TestBatchDocument, TestRunDocument } from '../../platform/store/models/agent-test-model.ts';
import { isLostForGood } from '../../platform/store/worker-losses.ts';
import { completeTestBatch } from './test-batch-store.ts';
import { testJob } from './test-job.ts';
import { countTestSpending, requireTestSpending } from './test-limits.ts';

type TestReport = Extract<DurableReport, { type: 'agent_test' }>;

/** A worker ends a run within eight minutes. */
const DEADLINE_MS = 10 * 60_000;
/** Retry interval while no worker is free, and for runs queued by other processes. */
const TICK_MS = 2_000;
const PLACED_AT_ONCE = 200;
const OPEN_AT_ONCE = 100;

/** Starts the runner of a process. */
export function startTestRunner(context: Context): BackgroundLoop {
  const { testRuns, testBatches } = context.models;
  const isDone = async () =>
    (await testRuns.exists({ status: { $in: ['queued', 'running'] } })) === null &&
    (await testBatches.exists({ status: 'running' })) === null;
  const options = {
    name: 'agent-tests',
    everyMs: TICK_MS,
    chore: 'agent-tests',
    isDone,
    waitsFor: ['testRuns', 'testBatches'],
  } as const;
  return startBackgroundLoop(context, options, () => work(context));
}

/** Stores the result of a run. Also accepts that of a run that was given up meanwhile and not restarted. */
export async function applyTestReport(
  context: Context,
  envelope: ReportEnvelope,
  report: TestReport,
): Promise<ReportOutcome> {
  const { result, cost_micros: micros = 0 } = report;
  const run = { _id: envelope.session_id, epoch: envelope.epoch };
  const finished = await finishRun(context, run, result);
  if (!finished && !(await context.models.testRuns.exists(run))) return { outcome: 'stale' };
  if (finished) await countTestSpending(context, finished.team_id, micros);
  return { outcome: 'stored', seq: envelope.seq };
}

/**
 * Requeues the runs of a lost worker; `hungIn` is the run or session that had blocked its event loop when
 * it was killed.
 */
export async function requeueLostRuns(
  context: Context,
  instanceId: string,
  hungIn: string | null,
): Promise<void> {
  const lost = await requeueLost(context, context.models.testRuns, { instanceId, hungIn });
  if (lost > 0) context.workSignals.notify('agent-tests');
}

async function work(context: Context): Promise<void> {
  const { testRuns, testBatches } = context.models;
  await requeueSilent(context, testRuns, new Date(context.clock.wallTime() - DEADLINE_MS));
  // A batch that a crash prevented from completing.
  const open = await testBatches
    .find({ status: 'running' }, { _id: 1 })
    .sort({ created_at: 1 })
    .limit(OPEN_AT_ONCE)
    .lean<Pick<TestBatchDocument, '_id'>[]>();
  for (const { _id } of open) await completeTestBatch(context, _id);
  const running = new Map<string, number>();
  const count = (teamId: string) => running.set(teamId, (running.get(teamId) ?? 0) + 1);
  for (const run of await testRuns
    .find({ status: 'running' }, { team_id: 1 })
    .lean<Pick<TestRunDocument, 'team_id'>[]>())
    count(run.team_id);
  for (let placed = 0; placed < PLACED_AT_ONCE; placed++) {
    const busy = [...running]
      .filter(([, runs]) => runs >= context.settings.LIMIT_TEST_RUNS)
      .map(([teamId]) => teamId);
    const run = await testRuns
      .findOne({ status: 'queued', team_id: { $nin: busy } })
      .sort({ status_at: 1 })
      .lean<TestRunDocument>();
    if (!run || !(await start(context, run))) return;
    count(run.team_id);
  }
}

/** Settles or places one run; false if no worker is free. */
async function start(context: Context, run: TestRunDocument): Promise<boolean> {
  if (isLostForGood(run.losses ?? {})) {
    await finishRun(context, run, testError('The run lost its worker too often'));
    return true;
  }
  const unpaid = await requireTestSpending(context, run.team_id).catch((error: unknown) => {
    if (error instanceof Fault) return error;
    throw error;
  });
  if (unpaid) {
    await finishRun(context, run, testError(unpaid.message));
    return true;
  }
  const job = await testJob(context, run).catch((error: unknown) => {
    if (error instanceof InvalidRequest) return error;
    throw error;
  });
  if (job === null || job instanceof InvalidRequest) {
    const cause =
      job === null
        ? 'The data of the batch is gone'
        : 'A variable the agent requires has no value in dynamic_variables';
    await finishRun(context, run, testError(cause));
    return true;
  }
  return startQueued(
    context,
    { model: context.models.testRuns, job: run },
    {
      kind: 'agent_test',
      assign: (placement, key) => context.dispatch.assignAgentTest(placement, key, job),
      fields: (at) => ({ started_at: at }),
    },
  );
}

async function finishRun(
  context: Context,
  attempt: Pick<TestRunDocument, '_id' | 'epoch'>,
  result: AgentTestResult,
): Promise<TestRunDocument | null> {
  const at = now(context);
  const run = await context.models.testRuns
    .findOneAndUpdate(
      { _id: attempt._id, epoch: attempt.epoch, status: { $in: ['queued', 'running'] } },
      {
        $set: {
          status: result.status,
          result: JSON.stringify(result),
          instance_id: null,
          status_at: at,
          finished_at: at,
        },
      },
    )
    .lean<TestRunDocument>();
  if (!run) return null;
  await completeTestBatch(context, run.batch_id);
  context.workSignals.notify('agent-tests');
  return run;
}
