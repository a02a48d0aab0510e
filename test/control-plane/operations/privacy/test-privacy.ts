/** Calls with all kinds of erasable data, and the routes that limit and erase it. */
import { putStored } from '#control-plane/calls/recordings/recording-store.ts';
import type { Segment } from '#control-plane/calls/recordings/stored-pieces.ts';
import type { TestResponse, TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

export const DAY_MS = 24 * 60 * 60 * 1000;

/** A segment of two samples. */
export function segmentOf(epoch: number, index: number): Segment {
  return { role: 'user', epoch, index, pieces: 1, startMs: 0, rateHz: 8_000, samples: 2, packing: 'pcm' };
}

/** The API with helpers for erasable calls of one tenant. */
export interface TestPrivacy extends TestCalls {
  /** Creates a new account whose agent is used from here on. */
  newTenant(): Promise<TestUser>;
  agentId(): string;
  /** Makes a call with transcript, recording, flight log, plan and webhook; returns its id. */
  call(endUserId?: string, hasEnded?: boolean): Promise<string>;
  stored(id: string): ReturnType<typeof findSession>;
  detail(id: string): Promise<TestResponse>;
  recording(id: string): Promise<TestResponse>;
  blobs(id: string): Promise<readonly string[]>;
  /** Changes the team's privacy settings. */
  patch(body: object, key?: string): Promise<TestResponse>;
  /** Erases an end user. */
  erase(endUserId: string, key?: string): Promise<TestResponse>;
  /** Backdates a session by days, without firing the clock's timers. */
  age(id: string, days: number): Promise<void>;
}

const findSession = (api: TestCalls, id: string) => api.context.models.sessions.findById(id).lean();

/** Opens the API for privacy tests. */
export async function openTestPrivacy(): Promise<TestPrivacy> {
  const api = await openTestCalls({ SUPERVISOR_RUN: 'run-1' });
  let user: TestUser;
  let agentId = '';
  const stored = (id: string) => findSession(api, id);
  return {
    ...api,
    newTenant: async () => {
      user = await api.createUser();
      const webhooks = { post_call: [{ url: 'https://hook.example.com/' }] };
      agentId = await api.publishAgent(user, { webhooks });
      return user;
    },
    agentId: () => agentId,
    call: async (endUserId = 'u-1', hasEnded = true) => {
      const body = {
        agent_id: agentId,
        end_user_id: endUserId,
        name: 'planted',
        metadata: { note: 'planted' },
      };
      const created = await api.request('POST', '/v1/agent/sessions', { key: user.key, body });
      const id: string = created.body.session_id;
      const content = 'my secret';
      const message = { role: 'user', content, turn_id: 1, id: content, created_at: api.at() } as const;
      await api.report(id, { type: 'joined', at: api.at() });
      await api.report(id, { type: 'items', items: [{ type: 'message', ...message }] });
      const session = (await stored(id))!;
      const { epoch } = session;
      await putStored(api.context, session, segmentOf(epoch, 0), Buffer.alloc(4));
      const chunk = { epoch, index: 0, pieces: 1, packing: 'none' } as const;
      await putStored(api.context, session, chunk, Buffer.from('log'));
      if (hasEnded) await api.report(id, { type: 'ended', at: api.at(), end_reason: 'agent_hangup' });
      return id;
    },
    stored,
    detail: (id) => api.request('GET', `/v1/agent/sessions/${id}`, { key: user.key }),
    recording: (id) => api.request('GET', `/v1/agent/sessions/${id}/recording`, { key: user.key }),
    blobs: (id) => api.context.blobs.list(`sessions/${id}/`),
    patch: (body, key = user.key) => api.request('PATCH', '/v1/agent/privacy', { key, body }),
    erase: (end_user_id, key = user.key) =>
      api.request('POST', '/v1/agent/erasures', { key, body: { end_user_id } }),
    age: async (id, days) => {
      const at = new Date(api.clock.wallTime() - days * DAY_MS);
      await api.context.models.sessions.updateOne({ _id: id }, { $set: { created_at: at, ended_at: at } });
    },
  };
}
