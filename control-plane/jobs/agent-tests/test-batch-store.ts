/**
 * Batches of agent tests: started with the current draft, counted, and completed when their last run ends.
 */

import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { TestDefinition } from '#protocol/agent-test.ts';
import { findAgent } from '../../catalogue/agents/agent-store.ts';
import { draftVersion } from '../../catalogue/agents/publish.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import { invalidField } from '../../platform/http/problems.ts';
import type {
  AgentTestDocument,
  RunCounts,
  TestBatchDocument,
  TestRunDocument,
} from '../../platform/store/models/agent-test-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { requireTestLimits } from './test-limits.ts';
import { definitionOf } from './test-record.ts';

/** Options of a batch. */
export interface TestBatchRequest {
  /** If absent, every test attached to the agent. */
  readonly test_ids?: readonly string[] | undefined;
  /** Overrides each test's own count. */
  readonly repeat_count?: number | undefined;
}

/** The draft when the batch began; its secrets are encrypted. */
export interface TestBatchDraft {
  readonly agent_name: string;
  readonly version: VersionDocument;
}

/**
 * Starts a batch with an agent's draft. Throws the refusals of `requireTestLimits`, `not_found`,
 * `InvalidRequest`, and `conflict` for a custom language model.
 */
export async function startTestBatch(
  context: Context,
  owner: { readonly userId: string; readonly teamId: string },
  { agentId, id }: { readonly agentId: string; readonly id: string },
  request: TestBatchRequest,
): Promise<TestBatchDocument> {
  const { teamId } = owner;
  const agent = await findAgent(context, teamId, agentId);
  const tests = await testsToRun(
    context,
    { teamId, agentId, workspaceId: agent.workspace_id },
    request.test_ids,
  );
  const draft = await draftVersion(context, agent);
  if (draft.config.llm.custom !== null)
    throw fault('conflict', { detail: 'Agent tests are not available with a custom language model' });
  const definitions = new Map(tests.map((test) => [test._id, definitionOf(test)]));
  const repeats = (test: AgentTestDocument) =>
    request.repeat_count ?? definitions.get(test._id)?.simulation?.repeat_count ?? 1;
  const runCount = tests.reduce((sum, test) => sum + repeats(test), 0);
  if (runCount > LIMITS.testRunsPerBatch)
    throw invalidField(['test_ids'], `a batch has at most ${LIMITS.testRunsPerBatch} runs`);
  await requireTestLimits(context, owner, runCount);
  const batch: TestBatchDocument = {
    _id: id,
    team_id: teamId,
    agent_id: agentId,
    status: 'running',
    run_count: runCount,
    counts: null,
    trigger_source: 'api',
    config_hash: draft.config_hash,
    created_at: now(context),
    finished_at: null,
  };
  const runs = tests.flatMap((test) =>
    Array.from({ length: repeats(test) }, (_, index) =>
      queuedRun(batch, test, { definition: definitions.get(test._id), index }),
    ),
  );
  const input: TestBatchDraft = { agent_name: agent.name, version: draft };
  await context.models.testInputs.insertMany([
    { _id: draftInputId(batch._id), batch_id: batch._id, content: JSON.stringify(input) },
    ...tests.map((test) => ({
      _id: testInputId(batch._id, test._id),
      batch_id: batch._id,
      content: test.definition,
    })),
  ]);
  // Runs are stored before their batch: an interruption leaves invisible runs, never a batch that waits for
  // missing ones.
  await context.models.testRuns.insertMany(runs);
  await context.models.testBatches.create(batch);
  context.workSignals.notify('agent-tests');
  return batch;
}

/** Looks for the batch of an interrupted start. Parts of it, which no request sees, are given up. */
export async function leftByTestBatch(
  { models }: Pick<Context, 'models'>,
  batchId: string,
): Promise<'made' | 'given_up'> {
  return (await models.testBatches.exists({ _id: batchId })) ? 'made' : 'given_up';
}

/** Finds a batch of an agent. Throws `not_found`. */
export async function findTestBatch(
  context: Context,
  agentId: string,
  batchId: string,
): Promise<TestBatchDocument> {
  const batch = await context.models.testBatches
    .findOne({ _id: batchId, agent_id: agentId })
    .lean<TestBatchDocument>();
  if (!batch) throw fault('not_found');
  return batch;
}

/** Counts the results of a batch so far. */
export async function countResults(context: Context, batch: TestBatchDocument): Promise<RunCounts> {
  return batch.counts ?? countRuns(context, batch._id);
}

/** Completes a batch whose last run has ended, and deletes the draft it no longer needs. */
export async function completeTestBatch(context: Context, batchId: string): Promise<void> {
  if (await context.models.testRuns.exists({ batch_id: batchId, status: { $in: ['queued', 'running'] } }))
    return;
  const counts = await countRuns(context, batchId);
  await context.models.testBatches.updateOne(
    { _id: batchId, status: 'running' },
    { $set: { status: 'completed', counts, finished_at: now(context) } },
  );
  await context.models.testInputs.deleteMany({ batch_id: batchId });
}

async function countRuns({ models }: Context, batchId: string): Promise<RunCounts> {
  const [passed, failed, error] = await Promise.all(
    (['passed', 'failed', 'error'] as const).map((status) =>
      models.testRuns.countDocuments({ batch_id: batchId, status }),
    ),
  );
  return { passed: passed ?? 0, failed: failed ?? 0, error: error ?? 0 };
}

/** Where a batch stores its draft. */
export function draftInputId(batchId: string): string {
  return `${batchId}:draft`;
}

/** Where a batch stores one of its tests. */
export function testInputId(batchId: string, testId: string): string {
  return `${batchId}:${testId}`;
}

async function testsToRun(
  context: Context,
  scope: { readonly teamId: string; readonly agentId: string; readonly workspaceId: string },
  testIds: readonly string[] | undefined,
): Promise<AgentTestDocument[]> {
  const { agentTests } = context.models;
  if (testIds === undefined) {
    const attached = await agentTests
      .find({ agent_ids: scope.agentId, team_id: scope.teamId })
      .sort({ created_at: -1, _id: -1 })
      .limit(LIMITS.testRunsPerBatch + 1)
      .lean<AgentTestDocument[]>();
    if (attached.length === 0) throw invalidField(['test_ids'], 'the agent has no tests');
    return attached;
  }
  const found = await agentTests
    .find({ _id: { $in: testIds }, team_id: scope.teamId, workspace_id: scope.workspaceId })
    .lean<AgentTestDocument[]>();
  const byId = new Map(found.map((test) => [test._id, test]));
  return testIds.map((id, index) => {
    const test = byId.get(id);
    if (!test) throw invalidField(['test_ids', index], 'unknown test');
    return test;
  });
}

function queuedRun(
  batch: TestBatchDocument,
  test: AgentTestDocument,
  repeat: { readonly definition: TestDefinition | undefined; readonly index: number },
): TestRunDocument {
  return {
    _id: newId(),
    team_id: batch.team_id,
    test_id: test._id,
    agent_id: batch.agent_id,
    batch_id: batch._id,
    test_type: test.test_type,
    repeat_index: repeat.index,
    status: 'queued',
    config_hash: batch.config_hash,
    channel: repeat.definition?.simulation?.channel ?? 'web_voice',
    instance_id: null,
    epoch: 0,
    status_at: batch.created_at,
    created_at: batch.created_at,
    started_at: null,
    finished_at: null,
    result: null,
  };
}
