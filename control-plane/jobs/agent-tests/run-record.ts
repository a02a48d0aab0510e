/** Batches and runs of agent tests as shown by the API. */
import { z } from 'zod';
import { agentTestResult, testEndedBy, testType } from '#protocol/agent-test.ts';
import type {
  RunCounts,
  TestBatchDocument,
  TestRunDocument,
} from '../../platform/store/models/agent-test-model.ts';

/** Statuses of a run. */
export const runStatus = z.enum(['queued', 'running', 'passed', 'failed', 'error']);

/** A batch of agent tests. */
export const testBatchRecord = z.object({
  batch_id: z.string(),
  agent_id: z.string(),
  status: z.enum(['running', 'completed']),
  completed: z.number().int(),
  passed: z.number().int(),
  failed: z.number().int(),
  errors: z.number().int(),
  /** passed / (passed + failed); null if there are neither. */
  pass_rate: z.number().nullable(),
  run_count: z.number().int(),
  trigger_source: z.enum(['console', 'api']),
  config_hash: z.string(),
  created_at: z.iso.datetime(),
  finished_at: z.iso.datetime().nullable(),
});

const { mock_gaps, simulation_result } = agentTestResult.shape;

/** A row of the list of runs. */
export const runSummary = z.object({
  run_id: z.string(),
  test_id: z.string(),
  agent_id: z.string(),
  batch_id: z.string().nullable(),
  test_type: testType,
  repeat_index: z.number().int(),
  status: runStatus,
  needs_review: z.boolean(),
  error: z.string().nullable(),
  usage: z.object({ agent_replies: z.number().int(), cost_usd: z.number().nullable() }),
  created_at: z.iso.datetime(),
  started_at: z.iso.datetime().nullable(),
  finished_at: z.iso.datetime().nullable(),
  agent_reply: z.string().nullable(),
  judge_reasoning: z.string().nullable(),
  config_hash: z.string(),
  latency_ms: z.number().nullable(),
  channel: z.enum(['web_voice', 'phone_inbound', 'phone_outbound']),
  turns_used: z.number().int().nullable(),
  ended_by: testEndedBy.nullable(),
  mock_gaps,
});

/** Results of a whole run. */
export const runRecord = runSummary.extend({ simulation_result });

/** A batch as shown by the API. */
export function toTestBatchRecord(
  batch: TestBatchDocument,
  counts: RunCounts,
): z.output<typeof testBatchRecord> {
  const { passed, failed, error } = counts;
  return {
    batch_id: batch._id,
    agent_id: batch.agent_id,
    status: batch.status,
    completed: passed + failed + error,
    passed,
    failed,
    errors: error,
    pass_rate: passed + failed === 0 ? null : passed / (passed + failed),
    run_count: batch.run_count,
    trigger_source: batch.trigger_source,
    config_hash: batch.config_hash,
    created_at: batch.created_at.toISOString(),
    finished_at: batch.finished_at?.toISOString() ?? null,
  };
}

/** Converts a whole run for the API. */
export function toRunRecord(run: TestRunDocument): z.output<typeof runRecord> {
  const result = run.result === null ? null : agentTestResult.parse(JSON.parse(run.result));
  return {
    run_id: run._id,
    test_id: run.test_id,
    agent_id: run.agent_id,
    batch_id: run.batch_id,
    test_type: run.test_type,
    repeat_index: run.repeat_index,
    status: run.status,
    needs_review: result?.needs_review ?? false,
    error: result?.error ?? null,
    usage: { agent_replies: result?.agent_replies ?? 0, cost_usd: null },
    created_at: run.created_at.toISOString(),
    started_at: run.started_at?.toISOString() ?? null,
    finished_at: run.finished_at?.toISOString() ?? null,
    agent_reply: result?.agent_reply ?? null,
    judge_reasoning: result?.judge_reasoning ?? null,
    config_hash: run.config_hash,
    latency_ms: result?.latency_ms ?? null,
    channel: run.channel,
    turns_used: result?.turns_used ?? null,
    ended_by: result?.ended_by ?? null,
    mock_gaps: result?.mock_gaps ?? [],
    simulation_result: result?.simulation_result ?? null,
  };
}
