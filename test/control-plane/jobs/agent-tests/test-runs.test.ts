import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testError } from '#protocol/agent-test.ts';
import { openTestRuns, PASSED, type TestRuns } from './open-test-runs.ts';

let api: TestRuns;
beforeEach(async () => {
  api = await openTestRuns();
});
afterEach(() => api.close());

const simulation = { scenario: 's', success_conditions: [{ name: 'c', description: 'd' }] };

describe('a batch of test runs', () => {
  it('runs the attached tests on workers against the draft as it was, and counts the results', async () => {
    const tool_id = (
      await api.request('POST', '/v1/agent/tools', {
        key: api.user.key,
        body: {
          name: 'Book',
          url: 'https://a.example.com',
          headers: [{ name: 'Authorization', value: 'Bearer s3cret', kind: 'authorization_bearer' }],
          mock_responses: [{ body: 'first', status_code: 201 }, { body: 'second' }],
        },
      })
    ).body.tool_id;
    const agentId = await api.createAgent({
      prompt: { system_prompt: 'Version one' },
      tools: { tool_ids: [tool_id] },
    });
    const testId = await api.createTest(agentId, { dynamic_variables: { plan: 'gold' } });
    await api.createTest(agentId, {
      name: 'Phones',
      test_type: 'simulation',
      conversation: [],
      expectation: '',
      simulation: { ...simulation, channel: 'phone_inbound', repeat_count: 2 },
    });
    api.dispatch.room = 0;
    const { status, body: batch } = await api.run(agentId);
    expect(status).toBe(201);
    const { config_hash } = await api.get(`/v1/agent/agents/${agentId}/config`);
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
      key: api.user.key,
      body: { prompt: { system_prompt: 'Version two' } },
    });
    await api.request('DELETE', `/v1/agent/tests/${testId}`, { key: api.user.key });
    expect((await api.runsOf(batch.batch_id)).map((each: { status: string }) => each.status)).toEqual([
      'queued',
      'queued',
      'queued',
    ]);
    api.dispatch.room = 3;
    await api.clock.advance(2_000);
    await api.runner.idle();
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
    await api.finish(PASSED, 0);
    await api.finish({ ...PASSED, status: 'failed', needs_review: true }, 1);
    expect(await api.get(`/v1/agent/agents/${agentId}/test-batches/${batch.batch_id}`)).toMatchObject({
      status: 'running',
      completed: 2,
      finished_at: null,
    });
    await api.finish(testError('The model answered HTTP 500'), 2);
    expect(await api.get(`/v1/agent/agents/${agentId}/test-batches/${batch.batch_id}`)).toMatchObject({
      status: 'completed',
      completed: 3,
      passed: 1,
      failed: 1,
      errors: 1,
      pass_rate: 0.5,
      finished_at: expect.any(String),
    });
    expect((await api.get(`/v1/agent/agents/${agentId}/test-batches`)).test_batches).toHaveLength(1);
    // The draft's sealed secrets are deleted after the run.
    expect(await api.context.models.testInputs.countDocuments({})).toBe(0);
    expect(await api.get('/v1/agent/test-runs?status=error')).toMatchObject({
      test_runs: [{ error: 'The model answered HTTP 500' }],
    });
  });

  it('stores all fields of a run, which can be read back', async () => {
    const agentId = await api.createAgent();
    const test_id = await api.createTest(agentId);
    const { batch_id } = (await api.run(agentId)).body;
    await api.finish();
    const [row] = await api.runsOf(batch_id);
    expect(await api.get(`/v1/agent/test-runs/${row.run_id}`)).toEqual({
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
    const otherUser = await api.createUser();
    expect(
      (await api.request('GET', `/v1/agent/test-runs/${row.run_id}`, { key: otherUser.key })).status,
    ).toBe(404);
  });

  it('accepts test_ids and repeat_count, allows at most 200 runs, and rejects what it cannot run', async () => {
    const agentId = await api.createAgent();
    expect((await api.run(agentId)).status).toBe(422);
    const loose = await api.createTest(agentId, { agent_ids: [] });
    expect((await api.run(agentId, { test_ids: [loose], repeat_count: 2 })).body.run_count).toBe(2);
    const refused: Record<string, unknown>[] = [
      { test_ids: ['nope'] },
      { test_ids: [] },
      { test_ids: [loose, loose] },
      { repeat_count: 0 },
      { repeat_count: 21, test_ids: [loose] },
      { nope: 1 },
    ];
    for (const body of refused) expect([body, (await api.run(agentId, body)).status]).toEqual([body, 422]);
    for (let count = 0; count < 11; count++) await api.createTest(agentId);
    expect((await api.run(agentId, { repeat_count: 20 })).status).toBe(422);
    const custom = { llm: { custom: { base_url: 'https://llm.example.com', model: 'm', api_key: 'k' } } };
    await api.request('PATCH', `/v1/agent/agents/${agentId}/config`, { key: api.user.key, body: custom });
    const { status, body } = await api.run(agentId);
    expect([status, body.message]).toEqual([
      409,
      'Agent tests are not available with a custom language model',
    ]);
  });

  it('reports an error if a required variable is missing from the test', async () => {
    const agentId = await api.createAgent({
      prompt: { system_prompt: 'Hello {{plan}}' },
      variables: { on_missing: 'reject' },
    });
    await api.createTest(agentId);
    const { batch_id } = (await api.run(agentId)).body;
    const [row] = await api.runsOf(batch_id);
    expect(row).toMatchObject({ status: 'error', error: expect.stringContaining('dynamic_variables') });
    expect(api.dispatch.tests).toEqual([]);
  });
});

it('leaves room for other teams’ tests', async () => {
  const agentId = await api.createAgent();
  await api.createTest(agentId);
  await api.run(agentId, { repeat_count: 20 });
  expect(api.dispatch.tests).toHaveLength(4);
  const first = api.user;
  api.user = await api.createUser();
  const otherAgent = await api.createAgent();
  await api.createTest(otherAgent);
  await api.run(otherAgent);
  expect(api.dispatch.tests).toHaveLength(5);
  api.user = first;
  await api.finish(PASSED, 0);
  expect(api.dispatch.tests).toHaveLength(6);
});

it('reads only the documents it returns', async () => {
  const ids: { team: string; agent: string; batch: string }[] = [];
  for (const account of [api.user, await api.createUser()]) {
    api.user = account;
    for (let count = 0; count < 2; count++) {
      const agent = await api.createAgent();
      await api.createTest(agent);
      ids.push({ team: account.teamId, agent, batch: (await api.run(agent)).body.batch_id });
    }
  }
  await api.finish();
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
    testRuns.collection.find({ team_id: api.user.teamId, status: 'passed' }, newest),
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
    const agentId = await api.createAgent();
    const test = await api.createTest(agentId);
    const { body: batch } = await api.run(agentId, { test_ids: [test], repeat_count: 6 });
    const { key } = api.dispatch.tests[0] ?? { key: { sessionId: '', epoch: 0 } };
    const report = { type: 'agent_test' as const, result: PASSED, cost_micros: 20_000_000 };
    await api.sink.apply([{ session_id: key.sessionId, epoch: key.epoch, seq: 1, report }], 'worker-1');
    await api.runner.idle();
    const ended = (await api.runsOf(batch.batch_id)).filter(
      ({ status }: { status: string }) => status === 'error',
    );
    expect(ended).toHaveLength(2);
    expect((await api.get(`/v1/agent/test-runs/${ended[0].run_id}`)).error).toMatch(
      /have reached their daily limit of 20.00 dollars for language models/,
    );
    const refused = await api.run(agentId, { test_ids: [test] });
    expect([refused.status, refused.body.reason]).toEqual([429, 'test_spending_reached']);
    await api.clock.advance(Number(refused.headers['retry-after']) * 1_000);
    expect((await api.run(agentId, { test_ids: [test] })).status).toBe(201);
  });

  it('security 16: is limited in queued runs and in batches started per minute', async () => {
    await api.close();
    api = await openTestRuns({ LIMIT_WAITING_TEST_RUNS: '10', LIMIT_TEST_BATCHES_PER_MINUTE: '3' });
    const agentId = await api.createAgent();
    const test = await api.createTest(agentId);
    expect((await api.run(agentId, { test_ids: [test], repeat_count: 8 })).status).toBe(201);
    const refused = await api.run(agentId, { test_ids: [test], repeat_count: 3 });
    expect([refused.status, refused.body.reason]).toEqual([429, 'too_many_at_once']);
    expect((await api.run(agentId, { test_ids: [test], repeat_count: 2 })).status).toBe(201);
    expect((await api.run(agentId, { test_ids: [test] })).body.reason).toBe('too_many_a_minute');
  });
});
