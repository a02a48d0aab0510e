import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { readSettings } from '#config/env.ts';
import { withinLimits } from '#control-plane/accounts/limits/spend-limits.ts';
import { startRoomReconciliation } from '#control-plane/calls/livekit/reconcile-rooms.ts';
import { placeOnTrunk } from '#control-plane/calls/outbound/trunk-limits.ts';
import { requireShare } from '#control-plane/calls/sessions/fair-slots.ts';
import { opensNewestSession } from '#control-plane/calls/sessions/opens-newest-session.ts';
import { sweep } from '#control-plane/calls/settlement/sweep.ts';
import { startLinkWatch } from '#control-plane/calls/workers/watch-links.ts';
import { startAnalysisRunner } from '#control-plane/jobs/analysis/analysis-runner.ts';
import { measureRegret } from '#control-plane/jobs/regret/regret-runner.ts';
import { lastConversation } from '#control-plane/jobs/sms/last-conversation.ts';
import { CallCounter } from '#control-plane/operations/analytics/call-counter.ts';
import { Archiver } from '#control-plane/operations/archive/archive-sessions.ts';
import { enforceRetention } from '#control-plane/operations/privacy/retention.ts';
import { scoreCalls } from '#control-plane/operations/scorecard/score-counter.ts';
import { countShares } from '#control-plane/operations/shares/share-counter.ts';
import type { BackgroundLoop } from '#control-plane/platform/background/background-loop.ts';
import { openRooms } from '#control-plane/platform/open-rooms.ts';
import { SESSION_INDEXES } from '#control-plane/platform/store/models/session-indexes.ts';
import type { SessionDocument } from '#control-plane/platform/store/models/session-model.ts';
import { ANNOUNCED_MS } from '#control-plane/platform/store/session-archive.ts';
import { type LivekitRooms, startLivekitRooms } from '../../../fakes/livekit-rooms.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { insertNumber, sipOf } from '../../test-numbers.ts';
import { type PlannedQuery, QueryListener } from './listen-to-queries.ts';

/** Ended calls of the team, with which there is nothing left to do. */
const PAST = 300;
const RARE = { status: 'failed', end_reason: 'dial_failed', direction: 'outbound' };
const CALLER = '+15550100077';

/** Files that ask for sessions by other fields than their ids; the queries of all are sent below. */
const ASKING = [
  'accounts/limits/spend-limits.ts',
  'calls/livekit/reconcile-rooms.ts',
  'calls/outbound/trunk-limits.ts',
  'calls/sessions/fair-slots.ts',
  'calls/sessions/opens-newest-session.ts',
  'calls/settlement/sweep.ts',
  'calls/settlement/worker-presence.ts',
  'calls/workers/watch-links.ts',
  'jobs/analysis/analysis-runner.ts',
  'jobs/regret/measure-group.ts',
  'jobs/sms/last-conversation.ts',
  'operations/analytics/call-counter.ts',
  'operations/analytics/read-calls.ts',
  'operations/archive/archive-sessions.ts',
  'operations/due-calls.ts',
  'operations/health/state-metrics.ts',
  'operations/privacy/erase.ts',
  'operations/privacy/retention.ts',
  'platform/store/find-session-page.ts',
];
/** Files that ask for sessions by their ids only. */
const BY_ID = [
  'accounts/limits/session-places.ts',
  'calls/admission/plan-inbound-call.ts',
  'calls/outbound/transfer-routes.ts',
  'calls/outbox/relay.ts',
  'calls/sessions/charge.ts',
  'calls/sessions/give-up-creation.ts',
  'calls/sessions/participant-routes.ts',
  'calls/sessions/place-session.ts',
  'calls/sessions/session-store.ts',
  'operations/analytics/count-calls.ts',
  'operations/events/event-routes.ts',
  'operations/scorecard/count-scored-calls.ts',
  'operations/shares/count-share-calls.ts',
  'platform/store/session-archive.ts',
];
/** Files that read every session: the keys for a backup. */
const OF_ALL = ['operations/backup/backup-routes.ts'];
const NOT_ASKING = ['platform/store/build-indexes.ts'];

let livekit: LivekitRooms;
let api: TestCalls;
let user: TestUser;
let agentId: string;
let queries: PlannedQuery[];
/** Sessions in progress or still to be done: an index of these may be read in full. */
let open: number;

const get = async (path: string) => {
  const answer = await api.request('GET', path, { key: user.key });
  expect(answer.status).toBe(200);
  return answer.body;
};
const session = async () =>
  (await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id: agentId } })).body
    .session_id as string;

beforeAll(async () => {
  livekit = await startLivekitRooms();
  const rooms = openRooms(readSettings(livekit.environment), createLogger({ level: 'silent', name: 'test' }));
  api = await openTestCalls({ ...livekit.environment, SUPERVISOR_RUN: 'run-1' }, { rooms });
  user = await api.createUser();
  agentId = await api.publishAgent(user, { webhooks: { post_call: [{ url: 'https://hook.example.com/' }] } });
  await storePast();
  const { collection } = api.context.models.sessions;
  const listener = new QueryListener(collection);
  await askForLists();
  await askForOpenWork();
  await askForOthers();
  queries = await listener.explain();
  open = await collection.countDocuments({ $or: [{ due: { $gt: 0 } }, { uncounted: true }] } as never);
});
afterAll(async () => {
  await api?.close();
  await livekit?.close();
});

async function storePast(): Promise<void> {
  const { sessions } = api.context.models;
  const id = await session();
  await api.report(id, { type: 'joined', at: api.at() });
  await api.report(id, { type: 'ended', at: api.at(5_000), end_reason: 'user_hangup' });
  const { uncounted: _, ...ended } = (await sessions.findById(id).lean()) as SessionDocument;
  const copies = Array.from({ length: PAST }, (_, index) => {
    const created_at = new Date(ended.created_at.getTime() - (index + 1) * 600_000);
    return {
      ...ended,
      _id: `past-${index}`,
      created_at,
      ended_at: created_at,
      analysis: { ...ended.analysis, state: 'skipped' },
      due: 0,
      ...(index % 20 === 0 ? { ...RARE, caller_number: CALLER, sip_call_id: `call-${index}` } : {}),
      ...(index % 30 === 0 ? { end_user_id: 'person' } : {}),
    };
  });
  await sessions.collection.insertMany(copies as never[]);
}

async function askForLists(): Promise<void> {
  const after = encodeURIComponent(api.at(-3_600_000));
  for (const filter of [
    '',
    `&agent_id=${agentId}`,
    `&caller_number=${encodeURIComponent(CALLER)}`,
    `&caller_number=${encodeURIComponent(CALLER)}&agent_id=${agentId}`,
    '&sip_call_id=call-20',
    '&status=failed',
    '&status=pending,active,unknown,completed,failed',
    '&direction=outbound',
    '&end_reason=dial_failed,cancelled',
    `&end_reason=dial_failed&created_after=${after}`,
    `&created_after=${after}`,
  ]) {
    const page = await get(`/v1/agent/sessions?page_size=5${filter}`);
    if (page.next_cursor)
      await get(`/v1/agent/sessions?page_size=5${filter}&cursor=${encodeURIComponent(page.next_cursor)}`);
  }
}

/** The repeated work of the background. */
async function askForOpenWork(): Promise<void> {
  const { context, clock } = api;
  const waiting = await session();
  const active = await session();
  await api.report(active, { type: 'joined', at: api.at() });
  await sweep(context, { graceMs: 0, startedAtMs: clock.wallTime() - 3_600_000 });
  await api.sink.workerLost('worker-1');
  await api.sink.workersHeard(['worker-1']);
  const running = [waiting, active].map((sessionId) => ({ sessionId, epoch: 1 }));
  await api.sink.workerBack('worker-1', running);
  await passOf(startAnalysisRunner(context));
  await passOf(startRoomReconciliation(context));
  await passOf(
    startLinkWatch(context, {
      dispatch: { isConnected: () => true },
      workers: { settledIds: () => ['worker-1'] },
      sink: api.sink,
    }),
  );
  await get('/metrics');
  await api.sink.workerDead('worker-2', new Date(clock.wallTime()));
}

async function passOf(loop: BackgroundLoop): Promise<void> {
  await loop.idle();
  await loop.close();
}

async function askForOthers(): Promise<void> {
  const { context } = api;
  const limits = { concurrent_calls: 1_000, daily_cap: 1_000_000_000 };
  const agent = { _id: agentId, team_id: user.teamId, limits };
  const payer = { userId: user.userId, spendLimits: limits };
  await withinLimits(context, { agent, payer, sessionId: 'new-1' } as never, async () => undefined);
  const numberId = await insertNumber(api, user, {
    provider: 'sip',
    sip: sipOf({ termination_uri: 'pbx.example.com' }),
    trunk_limits: { concurrent_calls: 5, calls_per_minute: null },
  });
  const number = await context.models.numbers.findById(numberId).lean();
  await placeOnTrunk(context, { number, sessionId: 'new-2' } as never, async () => undefined);
  Object.assign(api.dispatch, { capacity: 10, room: 1 });
  const account = { user_id: user.userId, team_id: user.teamId };
  await expect(requireShare(context, 'phone', account)).rejects.toThrow('the last tenth');
  const from = encodeURIComponent(api.at(-3 * 3_600_000));
  const statistics = [`interval=hour&from=${from}`, `interval=hour&from=${from}&agent_id=${agentId}`];
  for (const question of statistics) await get(`/v1/agent/analytics?${question}`);
  const counter = new CallCounter(context, 'test');
  await counter.count();
  await counter.isDone();
  for (const question of statistics) await get(`/v1/agent/analytics?${question}`);
  await countShares(context);
  await scoreCalls(context);
  await measureRegret(context, { holder: 'test', candidates: async () => new Map() });
  await lastConversation(context, {
    agent: { _id: agentId, team_id: user.teamId },
    person: CALLER,
    sms: { agent_id: agentId, continue_minutes: 60 },
    thread: { session_id: null },
  });
  await opensNewestSession(context.models, context.credentials.deploymentKey);
  await api.request('PATCH', '/v1/agent/privacy', { key: user.key, body: { transcripts_days: 1 } });
  await enforceRetention(context, 'test');
  const archiver = new Archiver(context, 'test');
  while (!(await archiver.archive(new Date(0)))) await api.clock.advance(ANNOUNCED_MS);
  for (const person of [{ end_user_id: 'person' }, { phone_number: CALLER }])
    expect((await api.request('POST', '/v1/agent/erasures', { key: user.key, body: person })).status).toBe(
      200,
    );
}

describe('the queries of the product on sessions', () => {
  it('read what they answer, and what is in progress: never the past', () => {
    // Explained to the end, but it stops at the first session that was not erased.
    const bounded = queries.filter(({ filter }) => !('wrapped_key' in filter));
    expect(bounded.filter(({ index, wasted }) => index === null || wasted > open + 1)).toEqual([]);
  });

  it('get their answers from an index in the order they ask for', () => {
    expect(queries.filter(({ isSortedLate }) => isSortedLate)).toEqual([]);
  });

  it('are all sent by this test: a file that asks otherwise is named here', async () => {
    const found: string[] = [];
    for await (const file of glob('**/*.ts', { cwd: 'control-plane' }))
      if (
        /models\.sessions\b|\bsessions\b[^;]{0,40}\}(: Models| = (this\.#context\.)?models)/.test(
          readFileSync(`control-plane/${file}`, 'utf8'),
        )
      )
        found.push(file);
    expect(found.sort()).toEqual([...ASKING, ...BY_ID, ...OF_ALL, ...NOT_ASKING].sort());
  });
});

describe('the indexes of sessions', () => {
  it('are eight at most, because each new session is added to all of them', () => {
    expect(SESSION_INDEXES.length).toBeLessThanOrEqual(8);
  });

  it.each(SESSION_INDEXES.map(({ key, serves }) => [Object.entries(key).flat().join('_'), serves]))(
    '%s serves a query: %s',
    (name) => {
      expect(queries.some(({ index }) => index === name)).toBe(true);
    },
  );
});
