/** Text sessions of one tenant: real routes, store and ledger, and workers that the test plays. */
import { startTextSessions } from '#control-plane/jobs/text-sessions/text-session-loop.ts';
import type { BackgroundLoop } from '#control-plane/platform/background/background-loop.ts';
import type { TextTurnResult } from '#protocol/text-turn.ts';
import type { TestResponse, TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import type { TestStore } from '../../test-store.ts';

/** An answer of a worker. */
export const answer = (reply: string, changes: Partial<TextTurnResult> = {}): TextTurnResult => ({
  reply,
  items: [
    {
      type: 'message',
      role: 'assistant',
      content: reply,
      turn_id: 1,
      created_at: '2026-01-01T00:00:00.000Z',
      id: `said:${reply}`,
    },
  ],
  has_ended: false,
  error: null,
  usage: [{ model: 'openai/test', input_tokens: 9, cached_input_tokens: 0, output_tokens: 4 }],
  ...changes,
});

/** The API with helpers for text sessions. */
export interface TextSessions extends TestCalls {
  readonly user: TestUser;
  readonly loop: BackgroundLoop;
  /** Creates a session of a new agent, or of this one; returns its id. */
  create(body?: Record<string, unknown>, agentId?: string): Promise<string>;
  /** Sends a message; resolves with the response once a worker has answered. */
  send(sessionId: string, content: string | null, key?: string): Promise<TestResponse>;
  /** Waits until a worker has got the turn of this number, counted over all sessions from 1. */
  placed(count: number): Promise<void>;
  /** Reports the result of a placed turn, the newest by default; returns the outcome. */
  finish(result: TextTurnResult, at?: number): Promise<string>;
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields of the answer
  get(url: string): Promise<any>;
}

/** Opens the API for text sessions. */
export async function openTextSessions(
  environment: Record<string, string> = {},
  stored?: Omit<TestStore, 'dataDir'>,
): Promise<TextSessions> {
  const api = await openTestCalls(environment, {}, stored);
  const user = await api.createUser();
  const loop = startTextSessions(api.context);
  return {
    ...api,
    user,
    loop,
    create: async (body = {}, agentId) => {
      const agent_id = agentId ?? (await api.publishAgent(user));
      const created = await api.request('POST', '/v1/agent/text-sessions', {
        key: user.key,
        body: { agent_id, ...body },
      });
      if (created.status !== 201) throw new Error(created.text);
      return created.body.text_session_id;
    },
    send: (sessionId, content, key) =>
      api.request('POST', `/v1/agent/text-sessions/${sessionId}/messages`, {
        key: user.key,
        body: content === null ? {} : { content },
        ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }),
      }),
    placed: async (count) => {
      while (api.dispatch.textTurns.length < count) await new Promise((resolve) => setTimeout(resolve, 1));
    },
    finish: async (result, at = -1) => {
      const { key } = api.dispatch.textTurns.at(at) ?? { key: { sessionId: '', epoch: 0 } };
      const report = { type: 'text_turn' as const, result };
      const envelope = { session_id: key.sessionId, epoch: key.epoch, seq: 1, report };
      const { outcome } = await api.sink.apply([envelope], 'worker-1');
      await loop.idle();
      return outcome;
    },
    get: async (url) => (await api.request('GET', url, { key: user.key })).body,
    close: async () => {
      await loop.close();
      await api.close();
    },
  };
}
