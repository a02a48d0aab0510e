/**
 * The API with all that calls need, for tests: real store, ledger, outbox and routes; simulated workers and a
 * manual clock.
 */

import { createReportSink } from '#control-plane/calls/settlement/settle-call.ts';
import { createCallJobs } from '#control-plane/jobs/create-call-jobs.ts';
import type { Context } from '#control-plane/platform/context.ts';
import type { ReportOutcome, ReportSink } from '#control-plane/platform/report-sink.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import { FakeDispatch } from '#test/fakes/fake-dispatch.ts';
import { openTestApi, type TestApi, type TestUser } from './test-api.ts';
import type { TestStore } from './test-store.ts';

/** The API under test, with a stand-in for its workers. */
export interface TestCalls extends TestApi {
  readonly dispatch: FakeDispatch;
  readonly sink: ReportSink;
  /** Creates and publishes an agent of a user; `profile` is patched in. */
  publishAgent(
    user: TestUser,
    config?: Record<string, unknown>,
    profile?: Record<string, unknown>,
  ): Promise<string>;
  /**
   * Sends the next report of a session's current epoch, from its own worker or from another one that holds
   * its spool.
   */
  report(sessionId: string, report: DurableReport, instanceId?: string): Promise<ReportOutcome>;
  /** A user's balance in micro-dollars. */
  balance(userId: string): Promise<number>;
  /** Wall time in the format of reports, `ms` from now. */
  at(ms?: number): string;
}

/** Opens the API with these settings over the defaults. */
export async function openTestCalls(
  environment: Record<string, string> = {},
  over: Partial<Context> = {},
  stored?: Omit<TestStore, 'dataDir'>,
): Promise<TestCalls> {
  const dispatch = new FakeDispatch();
  const api = await openTestApi({ EGRESS_ALLOW: '127.0.0.1', ...environment }, { dispatch, ...over }, stored);
  const sink = createReportSink(api.context, createCallJobs(api.context));
  return {
    ...api,
    dispatch,
    sink,
    publishAgent: async (user, config = {}, profile) => {
      const created = await api.request('POST', '/v1/agent/agents', {
        key: user.key,
        body: { name: 'Ada', config },
      });
      if (created.status !== 201) throw new Error(`agent not created: ${created.text}`);
      const id: string = created.body.agent_id;
      if (profile) await api.request('PATCH', `/v1/agent/agents/${id}`, { key: user.key, body: profile });
      const published = await api.request('POST', `/v1/agent/agents/${id}/publish`, { key: user.key });
      if (published.status !== 200) throw new Error(`agent not published: ${published.text}`);
      return id;
    },
    report: async (sessionId, report, instanceId) => {
      const session = await api.context.models.sessions.findById(sessionId).lean();
      if (!session) throw new Error('no such session');
      const envelope = { session_id: sessionId, epoch: session.epoch, seq: session.last_seq + 1, report };
      return sink.apply([envelope], instanceId ?? session.worker?.instance_id ?? '');
    },
    balance: async (userId) => (await api.context.ledger.wallet(userId))?.newest.balanceMicros ?? 0,
    at: (ms = 0) => new Date(api.clock.wallTime() + ms).toISOString(),
  };
}
