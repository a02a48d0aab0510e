/**
 * Batches under test: a tenant with an agent and a number that can call, and a runner driven pass by pass.
 */
import { runBatches } from '#control-plane/jobs/batch-calls/batch-runner.ts';
import type { Context } from '#control-plane/platform/context.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { insertNumber } from '../../test-numbers.ts';

const TRUNK = { SIP_TRUNK_URI: 'trunk.example.com:5080' };

/** The API with helpers for batches. */
export interface TestBatches extends TestCalls {
  /** Creates a new account whose agent and number are used from here on. */
  newTenant(): Promise<TestUser>;
  numberId(): string;
  agentId(): string;
  /**
   * Starts a batch of these numbers, without calling hours unless a schedule is given; returns its record.
   */
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of the answer
  start(numbers: readonly string[], over?: Record<string, unknown>): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of the answer
  batch(id: string): Promise<any>;
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of the answer
  rows(id: string): Promise<any[]>;
  /** Runs passes of one process. */
  pass(context?: Context, runner?: string): Promise<void>;
  /** The numbers dialled so far, in order. */
  dialled(): string[];
  /** The session that is ringing a number. */
  ringingAt(number: string): string;
  /** Ends the call to a number as its worker would report it. */
  finish(number: string, dialStatus: 'answered' | 'busy' | 'no_answer' | 'failed'): Promise<void>;
}

/** Opens the API for batch tests. */
export async function openTestBatches(environment: Record<string, string> = {}): Promise<TestBatches> {
  const api = await openTestCalls({ ...TRUNK, ...environment });
  let user: TestUser;
  let agent = '';
  let number = '';
  const get = async (url: string) => (await api.request('GET', url, { key: user.key })).body;
  const ringingAt = (toNumber: string) => {
    const plan = api.dispatch.plans.findLast(
      ({ plan: { transport } }) => transport.type === 'sip_outbound' && transport.to_number === toNumber,
    );
    if (!plan) throw new Error(`${toNumber} was not dialled`);
    return plan.key.sessionId;
  };
  return {
    ...api,
    newTenant: async () => {
      api.dispatch.reset();
      user = await api.createUser();
      agent = await api.publishAgent(user);
      number = await insertNumber(api, user);
      return user;
    },
    numberId: () => number,
    agentId: () => agent,
    start: async (numbers, over = {}) => {
      const body = {
        agent_id: agent,
        phone_number_id: number,
        schedule: { calling_hours: null },
        recipients: numbers.map((to_number) => ({ to_number })),
        ...over,
      };
      const {
        status,
        body: batch,
        text,
      } = await api.request('POST', '/v1/agent/batch-calls', { key: user.key, body });
      if (status !== 201) throw new Error(`batch not created: ${text}`);
      return batch;
    },
    batch: (id) => get(`/v1/agent/batch-calls/${id}`),
    rows: async (id) => (await get(`/v1/agent/batch-calls/${id}/rows?page_size=100`)).rows,
    pass: (context = api.context, runner = 'alone') => runBatches(context, runner),
    dialled: () =>
      api.dispatch.plans.flatMap(({ plan: { transport } }) =>
        transport.type === 'sip_outbound' ? [transport.to_number] : [],
      ),
    ringingAt,
    finish: async (toNumber, dialStatus) => {
      const sessionId = ringingAt(toNumber);
      await api.report(sessionId, { type: 'dial', dial_status: dialStatus, at: api.at(), sip_call_id: null });
      const reason = dialStatus === 'answered' ? 'user_hangup' : 'dial_failed';
      await api.report(sessionId, { type: 'ended', at: api.at(), end_reason: reason });
    },
  };
}

/** Distinct numbers to call. */
export function numbersToCall(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `+1415555${String(1_000 + index)}`);
}
