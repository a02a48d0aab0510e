import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestRunner } from '#control-plane/jobs/agent-tests/test-runner.ts';
import { testError } from '#protocol/agent-test.ts';
import { openTestRuns, PASSED, type TestRuns } from './open-test-runs.ts';

let api: TestRuns;
beforeEach(async () => {
  api = await openTestRuns();
});
afterEach(() => api.close());

describe('a lost run', () => {
  it('is placed again when its worker dies, and fails after two unexplained deaths', async () => {
    const agentId = await api.createAgent();
    await api.createTest(agentId);
    const { batch_id } = (await api.run(agentId)).body;
    for (let attempt = 1; attempt <= 2; attempt++) {
      expect(api.dispatch.tests).toHaveLength(attempt);
      await api.sink.workerDead('worker-1', new Date(api.clock.wallTime()));
      await api.runner.idle();
    }
    expect(api.dispatch.tests).toHaveLength(2);
    expect(await api.runsOf(batch_id)).toMatchObject([
      { status: 'error', error: expect.stringContaining('too often') },
    ]);
    expect(await api.get(`/v1/agent/agents/${agentId}/test-batches/${batch_id}`)).toMatchObject({
      status: 'completed',
      errors: 1,
      pass_rate: null,
    });
    expect(await api.finish(PASSED, 0)).toBe('stale');
  });

  it('security 3: survives stalls of its worker in other jobs, and fails after two stalls of its own', async () => {
    const agentId = await api.createAgent();
    await api.createTest(agentId);
    const { batch_id } = (await api.run(agentId)).body;
    const runId = api.dispatch.tests[0]?.key.sessionId ?? '';
    const dies = async (hungIn: string) => {
      await api.sink.workerDead('worker-1', new Date(api.clock.wallTime()), hungIn);
      await api.runner.idle();
      return (await api.runsOf(batch_id))[0]?.status;
    };
    expect([await dies('other'), await dies('other'), await dies('other')]).toEqual([
      'running',
      'running',
      'running',
    ]);
    expect([await dies(runId), await dies(runId)]).toEqual(['running', 'error']);
  });

  it('stays queued when its worker cannot be reached, and the attempt does not count', async () => {
    const agentId = await api.createAgent();
    await api.createTest(agentId);
    api.dispatch.unreachable = 'gateway_unreachable';
    const { batch_id } = (await api.run(agentId)).body;
    for (let tick = 0; tick < 4; tick++) {
      await api.clock.advance(2_000);
      await api.runner.idle();
    }
    expect(await api.runsOf(batch_id)).toMatchObject([{ status: 'queued' }]);
    api.dispatch.unreachable = null;
    await api.clock.advance(2_000);
    await api.runner.idle();
    expect(await api.runsOf(batch_id)).toMatchObject([{ status: 'running' }]);
  });

  it('fails after three silent workers', async () => {
    const agentId = await api.createAgent();
    await api.createTest(agentId);
    const { batch_id } = (await api.run(agentId)).body;
    const waits = async () => {
      await api.clock.advance(601_000);
      await api.runner.idle();
      return (await api.runsOf(batch_id))[0]?.status;
    };
    expect([await waits(), await waits(), await waits()]).toEqual(['running', 'running', 'error']);
  });

  it('is placed again when its worker is silent for 10 min; a late result of the first is ignored', async () => {
    const agentId = await api.createAgent();
    await api.createTest(agentId);
    const { batch_id } = (await api.run(agentId)).body;
    await api.clock.advance(601_000);
    await api.runner.idle();
    expect(api.dispatch.tests.map(({ key }) => key.epoch)).toEqual([1, 2]);
    expect(await api.finish(PASSED, 0)).toBe('stale');
    expect(await api.runsOf(batch_id)).toMatchObject([{ status: 'running' }]);
    expect(await api.finish(PASSED, 1)).toBe('stored');
    // A spool may repeat a report; it is stored once.
    expect(await api.finish(testError('x'), 1)).toBe('stored');
    expect(await api.runsOf(batch_id)).toMatchObject([{ status: 'passed' }]);
  });

  it('continues after a restart of the control plane', async () => {
    const agentId = await api.createAgent();
    await api.createTest(agentId);
    await api.createTest(agentId);
    api.dispatch.room = 1;
    const { batch_id } = (await api.run(agentId)).body;
    await api.runner.close();
    expect(api.dispatch.tests).toHaveLength(1);
    api.dispatch.room = 5;
    api.runner = startTestRunner(api.context);
    await api.runner.idle();
    expect(api.dispatch.tests.map(({ key }) => key.epoch)).toEqual([1, 1]);
    await api.finish(PASSED, 0);
    await api.finish(PASSED, 1);
    expect((await api.runsOf(batch_id)).map((each: { status: string }) => each.status)).toEqual([
      'passed',
      'passed',
    ]);
  });
});
