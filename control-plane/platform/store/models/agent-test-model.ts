/**
 * Agent tests: tests, batches of runs, and the inputs of a batch. Content written by tenants and models is
 * stored as JSON text, because its keys can be anything.
 */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';
import type { Losses } from '../worker-losses.ts';

/** A test in a workspace. */
export interface AgentTestDocument {
  _id: string;
  team_id: string;
  workspace_id: string;
  name: string;
  test_type: 'next_reply' | 'tool' | 'simulation';
  agent_ids: string[];
  /** `TestDefinition` as JSON. */
  definition: string;
  rev: number;
  created_at: Date;
  updated_at: Date;
}

/** Number of a batch's runs by outcome. */
export interface RunCounts {
  passed: number;
  failed: number;
  error: number;
}

/** Runs that were started together. */
export interface TestBatchDocument {
  _id: string;
  team_id: string;
  agent_id: string;
  status: 'running' | 'completed';
  run_count: number;
  /** Null until the batch is completed; until then its runs are counted on demand. */
  counts: RunCounts | null;
  trigger_source: 'console' | 'api';
  config_hash: string;
  created_at: Date;
  finished_at: Date | null;
}

/** An input of a batch: the agent's draft, or one test. Deleted when the batch is completed. */
export interface TestInputDocument {
  /** `<batch id>:draft` or `<batch id>:<test id>` */
  _id: string;
  batch_id: string;
  /** JSON of a `BatchDraft` or a `TestDefinition`. */
  content: string;
}

/** One run of one test. */
export interface TestRunDocument {
  _id: string;
  team_id: string;
  test_id: string;
  agent_id: string;
  batch_id: string;
  test_type: AgentTestDocument['test_type'];
  repeat_index: number;
  status: 'queued' | 'running' | 'passed' | 'failed' | 'error';
  config_hash: string;
  channel: 'web_voice' | 'phone_inbound' | 'phone_outbound';
  /** The worker running it; null while queued. */
  instance_id: string | null;
  /** Number of the attempt; reports of earlier attempts are ignored. */
  epoch: number;
  /** Workers lost while running it; absent if none. */
  losses?: Losses;
  /** Time of the last status change. */
  status_at: Date;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  /** `AgentTestResult` as JSON; null until the run ends. */
  result: string | null;
}

/** Defines the model of tests on a connection. */
export const defineAgentTests = modelOf<AgentTestDocument>('AgentTest', () => {
  const schema = new Schema<AgentTestDocument>(
    {
      _id: { type: String, required: true },
      team_id: { type: String, required: true },
      workspace_id: { type: String, required: true },
      name: { type: String, required: true },
      test_type: { type: String, required: true },
      agent_ids: { type: [String], default: [] },
      definition: { type: String, required: true },
      rev: { type: Number, default: 0 },
      created_at: { type: Date, required: true },
      updated_at: { type: Date, required: true },
    },
    { collection: 'agent_tests', versionKey: false },
  );
  schema.index({ team_id: 1, created_at: -1, _id: -1 });
  schema.index({ team_id: 1, agent_ids: 1, created_at: -1, _id: -1 });
  return schema;
});

/** Defines the model of batches on a connection. */
export const defineTestBatches = modelOf<TestBatchDocument>('TestBatch', () => {
  const schema = new Schema<TestBatchDocument>(
    {
      _id: { type: String, required: true },
      team_id: { type: String, required: true },
      agent_id: { type: String, required: true },
      status: { type: String, required: true },
      run_count: { type: Number, required: true },
      counts: { type: Schema.Types.Mixed, default: null },
      trigger_source: { type: String, required: true },
      config_hash: { type: String, required: true },
      created_at: { type: Date, required: true },
      finished_at: { type: Date, default: null },
    },
    { collection: 'agent_test_batches', versionKey: false },
  );
  schema.index({ agent_id: 1, created_at: -1, _id: -1 });
  schema.index({ status: 1, created_at: 1 });
  schema.index({ team_id: 1, finished_at: 1 });
  return schema;
});

/** Defines the model of inputs on a connection. */
export const defineTestInputs = modelOf<TestInputDocument>('TestInput', () => {
  const schema = new Schema<TestInputDocument>(
    {
      _id: { type: String, required: true },
      batch_id: { type: String, required: true },
      content: { type: String, required: true },
    },
    { collection: 'agent_test_inputs', versionKey: false },
  );
  schema.index({ batch_id: 1 });
  return schema;
});

/** Defines the model of runs on a connection. */
export const defineTestRuns = modelOf<TestRunDocument>('TestRun', () => {
  const schema = new Schema<TestRunDocument>(
    {
      _id: { type: String, required: true },
      team_id: { type: String, required: true },
      test_id: { type: String, required: true },
      agent_id: { type: String, required: true },
      batch_id: { type: String, required: true },
      test_type: { type: String, required: true },
      repeat_index: { type: Number, required: true },
      status: { type: String, required: true },
      config_hash: { type: String, required: true },
      channel: { type: String, required: true },
      instance_id: { type: String, default: null },
      epoch: { type: Number, required: true },
      losses: { type: Schema.Types.Mixed, default: undefined } as never,
      status_at: { type: Date, required: true },
      created_at: { type: Date, required: true },
      started_at: { type: Date, default: null },
      finished_at: { type: Date, default: null },
      result: { type: String, default: null },
    },
    { collection: 'agent_test_runs', versionKey: false },
  );
  schema.index({ team_id: 1, created_at: -1, _id: -1 });
  // Fields by which lists can be filtered.
  for (const field of ['agent_id', 'test_id', 'batch_id', 'status'])
    schema.index({ team_id: 1, [field]: 1, created_at: -1, _id: -1 });
  schema.index({ batch_id: 1, status: 1 });
  schema.index({ status: 1, status_at: 1 });
  schema.index({ instance_id: 1, status: 1 });
  return schema;
});
