import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startAnalysisRunner } from '#control-plane/jobs/analysis/analysis-runner.ts';
import type { BackgroundLoop } from '#control-plane/platform/background/background-loop.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
let user: TestUser;
let runner: BackgroundLoop;

beforeAll(async () => {
  api = await openTestCalls();
});
beforeEach(async () => {
  await api.context.models.sessions.deleteMany({});
  api.dispatch.reset();
  user = await api.createUser();
  runner = startAnalysisRunner(api.context);
});
afterEach(() => runner.close());
afterAll(() => api.close());

/** A finished call in which the user said this, or said nothing. */
async function call(said: string | null, config: Record<string, unknown> = {}): Promise<string> {
  const agent_id = await api.publishAgent(user, {
    webhooks: { post_call: [{ url: 'https://hook.example.com/' }] },
    ...config,
  });
  const { body } = await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } });
  const id: string = body.session_id;
  await api.report(id, { type: 'joined', at: api.at() });
  if (said !== null)
    await api.report(id, {
      type: 'items',
      items: [{ type: 'message', role: 'user', content: said, turn_id: 1, created_at: api.at(), id: 'm' }],
    });
  await api.report(id, { type: 'ended', at: api.at(10_000), end_reason: 'user_hangup' });
  await runner.idle();
  return id;
}

const analysis = async (id: string) =>
  (await api.request('GET', `/v1/agent/sessions/${id}`, { key: user.key })).body.analysis;
const events = async (id: string) =>
  (await api.context.models.deliveries.find({ session_id: id }).sort({ rank: 1 }).lean()).map(
    (row) => row.event,
  );
const RESULT = {
  status: 'completed' as const,
  summary: 'They talked.',
  data: [{ name: 'mood', type: 'text', value: 'good', rationale: 'said so' }],
  criteria_results: [{ name: 'polite', result: 'success' as const, rationale: 'was' }],
  error: null,
};

/** Reports the result of the newest job. */
async function finish(id: string, result = RESULT): Promise<void> {
  await api.report(id, { type: 'analysis', job_id: api.dispatch.analyses.at(-1)?.job.job_id ?? '', result });
}

describe('post-call analysis', () => {
  it('runs as a worker job with the version pinned at the start, and stores its result in the session', async () => {
    const id = await call('I am well');
    expect(api.dispatch.offers.at(-1)).toEqual({
      sessionId: id,
      epoch: 2,
      kind: 'analysis',
      sipCallId: null,
    });
    const job = api.dispatch.analyses[0]?.job;
    expect(job?.items).toMatchObject([{ content: 'I am well' }]);
    expect(job?.plan).toMatchObject({ session_id: id, config: { analysis: { summary: { enabled: true } } } });
    expect(await analysis(id)).toEqual({ status: 'running', summary: null, data: [], criteria_results: [] });
    await finish(id);
    const { status, summary, data, criteria_results } = RESULT;
    expect(await analysis(id)).toEqual({ status, summary, data, criteria_results });
    expect(await events(id)).toEqual(['call.ended', 'call.analyzed']);
  });

  it.each([
    ['no user message', null, {}],
    ['everything disabled', 'hello', { analysis: { summary: { enabled: false } } }],
  ])('is skipped without calling a model for a call with %s', async (_, said, config) => {
    const id = await call(said, config);
    expect(await analysis(id)).toEqual({ status: 'skipped', summary: null, data: [], criteria_results: [] });
    expect([api.dispatch.analyses, await events(id)]).toEqual([[], ['call.ended', 'call.analyzed']]);
  });

  it('waits for a free worker', async () => {
    api.dispatch.room = 1;
    const id = await call('hello');
    expect((await analysis(id)).status).toBe('queued');
    api.dispatch.room = 1;
    await api.clock.advance(2_000);
    await runner.idle();
    expect((await analysis(id)).status).toBe('running');
  });

  it('fails after the second unexplained worker death; a late result changes nothing', async () => {
    const id = await call('hello');
    const first = api.dispatch.analyses[0];
    for (let attempt = 0; attempt < 2; attempt++) {
      await api.sink.workerDead('worker-1', new Date(api.clock.wallTime()));
      await runner.idle();
    }
    expect([api.dispatch.analyses.length, (await analysis(id)).status]).toEqual([2, 'error']);
    const late = {
      session_id: id,
      epoch: first?.key.epoch ?? 0,
      seq: 1,
      report: { type: 'analysis' as const, job_id: first?.job.job_id ?? '', result: RESULT },
    };
    expect((await api.sink.apply([late], 'worker-1')).outcome).toBe('stale');
    expect((await analysis(id)).status).toBe('error');
  });

  it('security 3: survives stalls of its worker in other jobs, and fails after its own second stall', async () => {
    const id = await call('hello');
    const dies = async (hungIn: string) => {
      await api.sink.workerDead('worker-1', new Date(api.clock.wallTime()), hungIn);
      await runner.idle();
      return (await analysis(id)).status;
    };
    expect([await dies('other'), await dies('other'), await dies('other')]).toEqual([
      'running',
      'running',
      'running',
    ]);
    expect([await dies(id), await dies(id)]).toEqual(['running', 'error']);
  });

  it('fails after the third worker that never answers', async () => {
    const id = await call('hello');
    const waits = async () => {
      await api.clock.advance(121_000);
      await runner.idle();
      return (await analysis(id)).status;
    };
    expect([await waits(), await waits(), await waits()]).toEqual(['running', 'running', 'error']);
  });

  it('gives up on a worker that never answers after two minutes', async () => {
    await call('hello');
    await api.clock.advance(121_000);
    await runner.idle();
    expect(api.dispatch.analyses.length).toBe(2);
  });

  it('runs again from error or skipped with 202, and not otherwise or during the call', async () => {
    const rerun = (id: string) => api.request('POST', `/v1/agent/sessions/${id}/analysis`, { key: user.key });
    const skipped = await call(null);
    expect((await rerun(skipped)).status).toBe(202);
    await runner.idle();
    expect(await events(skipped)).toEqual(['call.ended', 'call.analyzed', 'call.analyzed']);
    const done = await call('hello');
    expect((await rerun(done)).status).toBe(409);
    await finish(done);
    expect((await rerun(done)).status).toBe(409);
    const agent_id = await api.publishAgent(user);
    const { body } = await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id } });
    expect([(await rerun(body.session_id)).status, (await rerun('unknown')).status]).toEqual([404, 404]);
  });

  it('reports only the cause in the webhook when it fails', async () => {
    const id = await call('hello');
    await finish(id, { ...RESULT, status: 'error' as never, error: 'model said no' as never });
    expect(await analysis(id)).toEqual({ status: 'error', summary: null, data: [], criteria_results: [] });
  });
});
