import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestRunner } from '#control-plane/jobs/agent-tests/test-runner.ts';
import type { ChoreLoop } from '#control-plane/platform/background/chore-loop.ts';
import { type AgentTestResult, testError } from '#protocol/agent-test.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
let user: TestUser;
let runner: ChoreLoop;

beforeEach(async () => {
  api = await openTestCalls();
  user = await api.createUser();
  runner = startTestRunner(api.context);
});
afterEach(async () => {
  await runner.close();
  await api.close();
});

const PASSED: AgentTestResult = {
  ...testError(''),
  status: 'passed',
  error: null,
  agent_replies: 1,
  agent_reply: 'Hello!',
  judge_reasoning: 'Polite.',
  latency_ms: 12,
};
const get = async (url: string) => (await api.request('GET', url, { key: user.key })).body;
const runsOf = async (batchId: string) => (await get(`/v1/agent/test-runs?batch_id=${batchId}`)).test_runs;

async function createAgent(config: Record<string, unknown> = {}): Promise<string> {
  return (await api.request('POST', '/v1/agent/agents', { key: user.key, body: { name: 'Ada', config } }))
    .body.agent_id;
}

async function createTest(agentId: string, over: Record<string, unknown> = {}): Promise<string> {
  const body = {
    name: 'Greets',
    test_type: 'next_reply',
    conversation: [{ role: 'user', text: 'Hi' }],
    expectation: 'A greeting',
    agent_ids: [agentId],
    ...over,
  };
  const { body: test, text } = await api.request('POST', '/v1/agent/tests', { key: user.key, body });
  if (!test.test_id) throw new Error(text);
  return test.test_id;
}

async function run(agentId: string, body?: Record<string, unknown>) {
  const response = await api.request('POST', `/v1/agent/agents/${agentId}/tests/run`, {
    key: user.key,
    ...(body ? { body } : {}),
  });
  await runner.idle();
  return response;
}

/** Reports the result of a placed job, the newest by default. */
async function finish(result: AgentTestResult = PASSED, at = -1) {
  const { key } = api.dispatch.tests.at(at) ?? { key: { sessionId: '', epoch: 0 } };
  const envelope = {
    session_id: key.sessionId,
    epoch: key.epoch,
    seq: 1,
    report: { type: 'agent_test' as const, result },
  };
  const outcome = await api.sink.apply([envelope], 'worker-1');
  await runner.idle();
  return outcome.outcome;
}

const simulation = { scenario: 's', success_conditions: [{ name: 'c', description: 'd' }] };

describe('a batch of test runs', () => {
  it('runs the attached tests on workers against the draft as it was, and counts the results', async () => {
    const tool_id = (
      await api.request('POST', '/v1/agent/tools', {
        key: user.key,
        body: {
          name: 'Book',
          url: 'https://a.example.com',
          headers: [{ name: 'Authorization', value: 'Bearer s3cret', kind: 'authorization_bearer' }],
          mock_responses: [{ body: 'first', status_code: 201 }, { body: 'second' }],
        },
      })
    ).body.tool_id;
    const agentId = await createAgent({
      prompt: { system_prompt: 'Version one' },
      tools: { tool_ids: [tool_id] },
    });
    const testId = await createTest(agentId, { dynamic_variables: { plan: 'gold' } });
    await createTest(agentId, {
      name: 'Phones',
      test_type: 'simulation',
      conversation: [],
      expectation: '',
      simulation: { ...simulation, channel: 'phone_inbound', repeat_count: 2 },
    });
    api.dispatch.room = 0;
    const { status, body: batch } = await run(agentId);
    expect(status).toBe(201);
    const { config_hash } = await get(`/v1/agent/agents/${agentId}/config`);
    expect(batch).toEqual({
      batch_id: expect.any(String),
      agent_id: agentId,
      status: 'running',
      completed: 0,
      passed: 0,
      failed: 0,
      errors: 0,
      pass_rate: null,
      run_count: 3,
      trigger_source: 'api',
      config_hash,
      created_at: expect.any(String),
      finished_at: null,
    });
    // Later changes to the draft do not affect the run.
    await api.request('PATCH', `/v1/agent/agents/${agentId}/config`, {
      key: user.key,
      body: { prompt: { system_prompt: 'Version two' } },
    });
    await api.request('DELETE', `/v1/agent/tests/${testId}`, { key: user.key });
    expect((await runsOf(batch.batch_id)).map((each: { status: string }) => each.status)).toEqual([
      'queued',
      'queued',
      'queued',
    ]);
    api.dispatch.room = 3;
    await api.clock.advance(2_000);
    await runner.idle();
    const jobs = api.dispatch.tests;
    expect(api.dispatch.offers.at(-1)).toMatchObject({ kind: 'agent_test', epoch: 1, sipCallId: null });
    expect(jobs.map(({ job }) => job.test.test_type).sort()).toEqual([
      'next_reply',
      'simulation',
      'simulation',
    ]);
    const greets = jobs.find(({ job }) => job.test.test_type === 'next_reply')?.job;
    expect(greets).toMatchObject({
      plan: {
        config: { prompt: { system_prompt: 'Version one' } },
        variables: { plan: 'gold' },
        channel: 'web_voice',
        is_preview: true,
      },
      stored_mocks: [{ tool_id, status_code: 201, body: 'first' }],
    });
    expect(greets?.plan.tools[0]?.headers).toEqual([{ name: 'Authorization', value: 'Bearer s3cret' }]);
    expect(jobs.find(({ job }) => job.test.test_type === 'simulation')?.job.plan.channel).toBe(
      'phone_inbound',
    );
    await finish(PASSED, 0);
    await finish({ ...PASSED, status: 'failed', needs_review: true }, 1);
    expect(await get(`/v1/agent/agents/${agentId}/test-batches/${batch.batch_id}`)).toMatchObject({
      status: 'running',
      completed: 2,
      finished_at: null,
    });
    await finish(testError('The model answered HTTP 500'), 2);
    expect(await get(`/v1/agent/agents/${agentId}/test-batches/${batch.batch_id}`)).toMatchObject({
      status: 'completed',
      completed: 3,
      passed: 1,
      failed: 1,
      errors: 1,
      pass_rate: 0.5,
      finished_at: expect.any(String),
    });
    expect((await get(`/v1/agent/agents/${agentId}/test-batches`)).test_batches).toHaveLength(1);
    // The draft's sealed secrets are deleted after the run.
    expect(await api.context.models.testInputs.countDocuments({})).toBe(0);
    expect(await get('/v1/agent/test-runs?status=error')).toMatchObject({
      test_runs: [{ error: 'The model answered HTTP 500' }],
    });
  });

  it('stores all fields of a run, which can be read back', async () => {
    const agentId = await createAgent();
    const test_id = await createTest(agentId);
    const { batch_id } = (await run(agentId)).body;
    await finish();
    const [row] = await runsOf(batch_id);
    expect(await get(`/v1/agent/test-runs/${row.run_id}`)).toEqual({
      run_id: row.run_id,
      test_id,
      agent_id: agentId,
      batch_id,
      test_type: 'next_reply',
      repeat_index: 0,
      status: 'passed',
      needs_review: false,
      error: null,
      usage: { agent_replies: 1, cost_usd: null },
      created_at: expect.any(String),
      started_at: expect.any(String),
      finished_at: expect.any(String),
      agent_reply: 'Hello!',
      judge_reasoning: 'Polite.',
      config_hash: expect.stringMatching(/^sha256:/),
      latency_ms: 12,
      channel: 'web_voice',
      turns_used: null,
      ended_by: null,
      mock_gaps: [],
      simulation_result: null,
    });
    const stranger = await api.createUser();
    expect(
      (await api.request('GET', `/v1/agent/test-runs/${row.run_id}`, { key: stranger.key })).status,
    ).toBe(404);
  });

  it('accepts test_ids and repeat_count, allows at most 200 runs, and rejects what it cannot run', async () => {
    const agentId = await createAgent();
    expect((await run(agentId)).status).toBe(422);
    const loose = await createTest(agentId, { agent_ids: [] });
    expect((await run(agentId, { test_ids: [loose], repeat_count: 2 })).body.run_count).toBe(2);
    const refused: Record<string, unknown>[] = [
      { test_ids: ['nope'] },
      { test_ids: [] },
      { test_ids: [loose, loose] },
      { repeat_count: 0 },
      { repeat_count: 21, test_ids: [loose] },
      { nope: 1 },
    ];
    for (const body of refused) expect([body, (await run(agentId, body)).status]).toEqual([body, 422]);
    for (let count = 0; count < 11; count++) await createTest(agentId);
    expect((await run(agentId, { repeat_count: 20 })).status).toBe(422);
    const custom = { llm: { custom: { base_url: 'https://llm.example.com', model: 'm', api_key: 'k' } } };
    await api.request('PATCH', `/v1/agent/agents/${agentId}/config`, { key: user.key, body: custom });
    const { status, body } = await run(agentId);
    expect([status, body.message]).toEqual([
      409,
      'Agent tests are not available with a custom language model',
    ]);
  });

  it('reports an error if a required variable is missing from the test', async () => {
    const agentId = await createAgent({
      prompt: { system_prompt: 'Hello {{plan}}' },
      variables: { on_missing: 'reject' },
    });
    await createTest(agentId);
    const { batch_id } = (await run(agentId)).body;
    const [row] = await runsOf(batch_id);
    expect(row).toMatchObject({ status: 'error', error: expect.stringContaining('dynamic_variables') });
    expect(api.dispatch.tests).toEqual([]);
  });
});

describe('a lost run', () => {
  it('is placed again when its worker dies, and fails after two unexplained deaths', async () => {
    const agentId = await createAgent();
    await createTest(agentId);
    const { batch_id } = (await run(agentId)).body;
    for (let attempt = 1; attempt <= 2; attempt++) {
      expect(api.dispatch.tests).toHaveLength(attempt);
      await api.sink.workerDead('worker-1', new Date(api.clock.wallTime()));
      await runner.idle();
    }
    expect(api.dispatch.tests).toHaveLength(2);
    expect(await runsOf(batch_id)).toMatchObject([
      { status: 'error', error: expect.stringContaining('too often') },
    ]);
    expect(await get(`/v1/agent/agents/${agentId}/test-batches/${batch_id}`)).toMatchObject({
      status: 'completed',
      errors: 1,
      pass_rate: null,
    });
    expect(await finish(PASSED, 0)).toBe('stale');
  });

  it('security 3: survives stalls of its worker in other jobs, and fails after two stalls of its own', async () => {
    const agentId = await createAgent();
    await createTest(agentId);
    const { batch_id } = (await run(agentId)).body;
    const runId = api.dispatch.tests[0]?.key.sessionId ?? '';
    const dies = async (stoodIn: string) => {
      await api.sink.workerDead('worker-1', new Date(api.clock.wallTime()), stoodIn);
      await runner.idle();
      return (await runsOf(batch_id))[0]?.status;
    };
    expect([await dies('other'), await dies('other'), await dies('other')]).toEqual([
      'running',
      'running',
      'running',
    ]);
    expect([await dies(runId), await dies(runId)]).toEqual(['running', 'error']);
  });

  it('stays queued when its worker cannot be reached, and the attempt does not count', async () => {
    const agentId = await createAgent();
    await createTest(agentId);
    api.dispatch.unreachable = 'gateway_unreachable';
    const { batch_id } = (await run(agentId)).body;
    for (let tick = 0; tick < 4; tick++) {
      await api.clock.advance(2_000);
      await runner.idle();
    }
    expect(await runsOf(batch_id)).toMatchObject([{ status: 'queued' }]);
    api.dispatch.unreachable = null;
    await api.clock.advance(2_000);
    await runner.idle();
    expect(await runsOf(batch_id)).toMatchObject([{ status: 'running' }]);
  });

  it('fails after three silent workers', async () => {
    const agentId = await createAgent();
    await createTest(agentId);
    const { batch_id } = (await run(agentId)).body;
    const waits = async () => {
      await api.clock.advance(601_000);
      await runner.idle();
      return (await runsOf(batch_id))[0]?.status;
    };
    expect([await waits(), await waits(), await waits()]).toEqual(['running', 'running', 'error']);
  });

  it('is placed again when its worker is silent for 10 min; a late result of the first is ignored', async () => {
    const agentId = await createAgent();
    await createTest(agentId);
    const { batch_id } = (await run(agentId)).body;
    await api.clock.advance(601_000);
    await runner.idle();
    expect(api.dispatch.tests.map(({ key }) => key.epoch)).toEqual([1, 2]);
    expect(await finish(PASSED, 0)).toBe('stale');
    expect(await runsOf(batch_id)).toMatchObject([{ status: 'running' }]);
    expect(await finish(PASSED, 1)).toBe('stored');
    // A spool may repeat a report; it is stored once.
    expect(await finish(testError('x'), 1)).toBe('stored');
    expect(await runsOf(batch_id)).toMatchObject([{ status: 'passed' }]);
  });

  it('continues after a restart of the control plane', async () => {
    const agentId = await createAgent();
    await createTest(agentId);
    await createTest(agentId);
    api.dispatch.room = 1;
    const { batch_id } = (await run(agentId)).body;
    await runner.close();
    expect(api.dispatch.tests).toHaveLength(1);
    api.dispatch.room = 5;
    runner = startTestRunner(api.context);
    await runner.idle();
    expect(api.dispatch.tests.map(({ key }) => key.epoch)).toEqual([1, 1]);
    await finish(PASSED, 0);
    await finish(PASSED, 1);
    expect((await runsOf(batch_id)).map((each: { status: string }) => each.status)).toEqual([
      'passed',
      'passed',
    ]);
  });
});

it('leaves room for other teams’ tests', async () => {
  const agentId = await createAgent();
  await createTest(agentId);
  await run(agentId, { repeat_count: 20 });
  expect(api.dispatch.tests).toHaveLength(4);
  const first = user;
  user = await api.createUser();
  const otherAgent = await createAgent();
  await createTest(otherAgent);
  await run(otherAgent);
  expect(api.dispatch.tests).toHaveLength(5);
  user = first;
  await finish(PASSED, 0);
  expect(api.dispatch.tests).toHaveLength(6);
});

it('reads only the documents it returns', async () => {
  const ids: { team: string; agent: string; batch: string }[] = [];
  for (const account of [user, await api.createUser()]) {
    user = account;
    for (let count = 0; count < 2; count++) {
      const agent = await createAgent();
      await createTest(agent);
      ids.push({ team: account.teamId, agent, batch: (await run(agent)).body.batch_id });
    }
  }
  await finish();
  const { team: team_id, agent: agent_id, batch: batch_id } = ids[0] ?? { team: '', agent: '', batch: '' };
  const { agentTests, testRuns, testBatches, testInputs } = api.context.models;
  const newest = { sort: { created_at: -1, _id: -1 } } as const;
  const plans = [
    agentTests.collection.find({ team_id }, newest),
    agentTests.collection.find({ team_id, agent_ids: agent_id }, newest),
    testBatches.collection.find({ agent_id }, newest),
    testBatches.collection.find({ status: 'completed' }, { sort: { created_at: 1 } }),
    testInputs.collection.find({ batch_id: batch_id as never }),
    testRuns.collection.find({ team_id }, newest),
    testRuns.collection.find({ team_id, batch_id }, newest),
    testRuns.collection.find({ team_id, agent_id }, newest),
    testRuns.collection.find({ team_id: user.teamId, status: 'passed' }, newest),
    testRuns.collection.find({ batch_id, status: 'running' }),
    testRuns.collection.find({ status: 'passed' }, { sort: { status_at: 1 } }),
    testRuns.collection.find({ instance_id: 'worker-1', status: 'running' }),
  ];
  for (const [index, found] of plans.entries()) {
    const executionStats = (await found.explain())['executionStats'];
    expect([index, executionStats.nReturned > 0, executionStats.totalDocsExamined]).toEqual([
      index,
      true,
      executionStats.nReturned,
    ]);
  }
});

describe('the share of one account in test runs', () => {
  it('security 16: is limited by a daily model limit, which rejects new batches and ends queued runs', async () => {
    const agentId = await createAgent();
    const test = await createTest(agentId);
    const { body: batch } = await run(agentId, { test_ids: [test], repeat_count: 6 });
    const { key } = api.dispatch.tests[0] ?? { key: { sessionId: '', epoch: 0 } };
    const report = { type: 'agent_test' as const, result: PASSED, cost_micros: 20_000_000 };
    await api.sink.apply([{ session_id: key.sessionId, epoch: key.epoch, seq: 1, report }], 'worker-1');
    await runner.idle();
    const ended = (await runsOf(batch.batch_id)).filter(
      ({ status }: { status: string }) => status === 'error',
    );
    expect(ended).toHaveLength(2);
    expect((await get(`/v1/agent/test-runs/${ended[0].run_id}`)).error).toMatch(
      /have reached their daily limit of 20.00 dollars for language models/,
    );
    const refused = await run(agentId, { test_ids: [test] });
    expect([refused.status, refused.body.reason]).toEqual([429, 'test_spending_reached']);
    await api.clock.advance(Number(refused.headers['retry-after']) * 1_000);
    expect((await run(agentId, { test_ids: [test] })).status).toBe(201);
  });

  it('security 16: is limited in queued runs and in batches started per minute', async () => {
    await api.close();
    api = await openTestCalls({ LIMIT_WAITING_TEST_RUNS: '10', LIMIT_TEST_BATCHES_PER_MINUTE: '3' });
    user = await api.createUser();
    await runner.close();
    runner = startTestRunner(api.context);
    const agentId = await createAgent();
    const test = await createTest(agentId);
    expect((await run(agentId, { test_ids: [test], repeat_count: 8 })).status).toBe(201);
    const refused = await run(agentId, { test_ids: [test], repeat_count: 3 });
    expect([refused.status, refused.body.reason]).toEqual([429, 'too_many_at_once']);
    expect((await run(agentId, { test_ids: [test], repeat_count: 2 })).status).toBe(201);
    expect((await run(agentId, { test_ids: [test] })).body.reason).toBe('too_many_a_minute');
  });
});
