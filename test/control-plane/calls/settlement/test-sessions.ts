/** Web sessions under test: a tenant with a published agent, and what its workers report. */
import { randomBytes } from 'node:crypto';
import type { SessionItem } from '#protocol/session-record.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

/** The API with helpers for sessions. */
export interface TestSessions extends TestCalls {
  /** Creates a new account whose agent is used from here on. */
  newTenant(): Promise<TestUser>;
  agentId(): string;
  /** Creates a session; returns its id. */
  session(): Promise<string>;
  /** Creates a session whose caller has joined; returns its id. */
  joined(): Promise<string>;
  /** The session as its owner reads it. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of the answer
  read(id: string): Promise<any>;
  /** Kills the worker while no other worker can continue its calls. */
  lose(instanceId: string): Promise<void>;
}

const LONGEST_PAUSE_MS = 1_000;

/** Opens the API for session tests. */
export async function openTestSessions(): Promise<TestSessions> {
  const api = await openTestCalls();
  let user: TestUser;
  let agentId = '';
  const session = async (): Promise<string> =>
    (await api.request('POST', '/v1/agent/sessions', { key: user.key, body: { agent_id: agentId } })).body
      .session_id;
  return {
    ...api,
    newTenant: async () => {
      api.dispatch.ended.length = 0;
      user = await api.createUser();
      agentId = await api.publishAgent(user);
      return user;
    },
    agentId: () => agentId,
    session,
    joined: async () => {
      const id = await session();
      await api.report(id, { type: 'joined', at: api.at() });
      return id;
    },
    read: async (id) => (await api.request('GET', `/v1/agent/sessions/${id}`, { key: user.key })).body,
    lose: async (instanceId) => {
      api.dispatch.room = 0;
      let isSettled = false;
      const dead = api.sink.workerDead(instanceId, new Date(api.clock.wallTime())).finally(() => {
        isSettled = true;
      });
      while (!isSettled) {
        // Only the pauses of the search for another worker pass, not the time limits of the store's commands.
        const waitMs = (api.clock.nextDueMs ?? Number.POSITIVE_INFINITY) - api.clock.now();
        if (waitMs <= LONGEST_PAUSE_MS) await api.clock.advance(waitMs);
        else await new Promise((resolve) => setTimeout(resolve, 1));
      }
      await dead;
      api.dispatch.room = Number.POSITIVE_INFINITY;
    },
  };
}

/** A message of the transcript. */
export function message(
  content: string,
  createdAt: string,
  role: 'user' | 'assistant' = 'user',
): SessionItem {
  return {
    type: 'message',
    role,
    content,
    turn_id: 1,
    created_at: createdAt,
    id: randomBytes(4).toString('hex'),
  };
}

/** The latency of a turn, as a worker reports it. */
export const LATENCY = {
  turn_id: 1,
  speech_ended_at: '2026-01-01T00:00:01.000Z',
  endpoint_ms: 550,
  transcript_ms: 0,
  first_token_ms: 20,
  first_sentence_ms: 5,
  first_audio_ms: 20,
  playout_ms: 5,
  total_ms: 600,
  endpoint_rule: 'complete',
  speculative: true,
};
