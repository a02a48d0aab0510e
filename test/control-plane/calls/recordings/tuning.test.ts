/** Tuning of an agent, over the API and as a tool of the MCP server, and replay of a call with its limits. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { recommend } from '#control-plane/calls/recordings/tuning.ts';
import { storedLog } from '../../../runtime/replay/logged-call.ts';
import { begunCall, endCall } from '../../logged-calls.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';

let api: TestCalls;
let user: TestUser;
let agentId: string;

beforeAll(async () => {
  api = await openTestCalls();
});
afterAll(() => api.close());
beforeEach(async () => {
  api.dispatch.reset();
  user = await api.createUser();
  agentId = await api.publishAgent(user);
});

/** An ended call with this flight log, or without one. */
async function endedCall(log: string | null): Promise<string> {
  const id = await begunCall(api, user.key, { agent_id: agentId });
  await endCall(api, id, log);
  return id;
}

const tune = (query = '', key = user.key) =>
  api.request('GET', `/v1/agent/agents/${agentId}/tuning${query}`, { key });

describe('the tuning of an agent', () => {
  it('judges its latest ended calls that have a flight log', async () => {
    await endedCall(await storedLog(1));
    await endedCall(await storedLog(2));
    await endedCall(null);
    await endedCall(await storedLog(3));
    const { status, body } = await tune('?calls=2');
    expect([status, body.calls]).toEqual([200, 2]);
    expect(api.dispatch.judged).toEqual([[await storedLog(3), await storedLog(2)]]);
    expect(body.settings[0]).toMatchObject({ conversation: {}, saved_ms: 0, saved_total_ms: 0 });
  });

  it('takes older calls in place of those of another version', async () => {
    await endedCall(await storedLog(1));
    await endedCall((await storedLog(2)).replace(/"machine_version":\d+/, '"machine_version":0'));
    expect((await tune('?calls=1')).body.calls).toBe(1);
  });

  it('asks a worker for a few megabytes at once, and passes over the longest calls', async () => {
    const log = await storedLog(1);
    // A worker that is lost leaves an incomplete last line, which is not read.
    const longer = (mebibytes: number) => log + 'x'.repeat(mebibytes * 1_048_576);
    for (const mebibytes of [9, 1.5, 1, 0]) await endedCall(longer(mebibytes));
    expect((await tune()).body.calls).toBe(3);
    expect(api.dispatch.judged.map(({ length }) => length)).toEqual([2, 1]);
  });

  it('passes over a call whose stored log is damaged', async () => {
    await endedCall(await storedLog(1));
    const id = await endedCall(await storedLog(2));
    const { blobs } = api.context;
    const keys = await blobs.list(`sessions/${id}/flight-log/`);
    expect(keys).not.toEqual([]);
    for (const key of keys) {
      await blobs.delete(key);
      await blobs.put(key, Buffer.from('damaged'));
    }
    const { status, body } = await tune();
    expect([status, body.calls]).toEqual([200, 1]);
  });

  it('looks for no further calls when its time is over', async () => {
    await endedCall(await storedLog(1));
    await endedCall(null);
    const { blobs } = api.context;
    const list = blobs.list.bind(blobs);
    blobs.list = async (prefix) => {
      await api.clock.advance(60_000);
      return list(prefix);
    };
    const { status, body } = await tune();
    blobs.list = list;
    expect([status, body.calls]).toEqual([200, 0]);
  });

  it('reads no call whose content has been erased', async () => {
    const id = await endedCall(await storedLog(1));
    await api.context.models.sessions.updateOne({ _id: id }, { $set: { wrapped_key: null } });
    expect((await tune()).body.calls).toBe(0);
  });

  it('recommends nothing from too few pauses, and says how many are needed', async () => {
    await endedCall(await storedLog(1));
    const { body } = await tune();
    expect(body).toMatchObject({ calls: 1, needed_pauses: 20, recommended: null });
    expect(body.pauses).toBeLessThan(20);
  });

  it('of an agent without calls has nothing to judge, and needs no worker', async () => {
    expect((await tune()).body).toMatchObject({ calls: 0, pauses: 0, settings: [], recommended: null });
    expect(api.dispatch.judged).toEqual([]);
  });

  it('is refused for another team, and for more calls than the limit', async () => {
    expect((await tune('', (await api.createUser()).key)).status).toBe(404);
    expect((await tune('?calls=201')).status).toBe(422);
  });

  it('fails when there is no worker to judge the calls', async () => {
    await endedCall(await storedLog(1));
    api.dispatch.unreachable = 'no_capacity';
    expect((await tune()).status).toBe(503);
    api.dispatch.unreachable = null;
    expect((await tune()).status).toBe(200);
  });

  it('is done once at a time for an account, whatever others do', async () => {
    await endedCall(await storedLog(1));
    const held = Promise.withResolvers<void>();
    const { blobs } = api.context;
    const list = blobs.list.bind(blobs);
    blobs.list = async (prefix) => {
      await held.promise;
      return list(prefix);
    };
    const first = tune();
    await expect.poll(async () => (await tune()).status).toBe(429);
    const refused = await tune();
    expect(refused.body.message).toContain('tunings of agents');
    held.resolve();
    blobs.list = list;
    expect((await first).status).toBe(200);
  });

  it('is done six times a minute for an account', async () => {
    const statuses: number[] = [];
    for (let times = 0; times < 7; times++) statuses.push((await tune()).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 429]);
  });
});

describe('the replay of a call', () => {
  const replay = (id: string) =>
    api.request('POST', `/v1/agent/sessions/${id}/replay`, {
      key: user.key,
      body: { conversation: { eagerness: 'eager' } },
    });

  it('is done twice at a time for an account, whatever others do', async () => {
    const id = await endedCall(await storedLog(1));
    const held = Promise.withResolvers<void>();
    const { blobs } = api.context;
    const list = blobs.list.bind(blobs);
    blobs.list = async (prefix) => {
      await held.promise;
      return list(prefix);
    };
    const both = [replay(id), replay(id)];
    await expect.poll(async () => (await replay(id)).status).toBe(429);
    const refused = await replay(id);
    expect(refused.body.message).toContain('replays of calls');
    held.resolve();
    blobs.list = list;
    expect((await Promise.all(both)).map(({ status }) => status)).toEqual([200, 200]);
  });

  it('is done thirty times a minute for an account', async () => {
    const id = await endedCall(await storedLog(1));
    const statuses: number[] = [];
    for (let times = 0; times < 31; times++) statuses.push((await replay(id)).status);
    expect(statuses).toEqual([...Array(30).fill(200), 429]);
  });

  it('says so when the log is longer than a worker takes, or damaged', async () => {
    const long = await endedCall((await storedLog(1)) + 'x'.repeat(9 * 1_048_576));
    const damaged = await endedCall(await storedLog(2));
    const { blobs } = api.context;
    for (const key of await blobs.list(`sessions/${damaged}/flight-log/`)) {
      await blobs.delete(key);
      await blobs.put(key, Buffer.from('damaged'));
    }
    for (const id of [long, damaged])
      expect(await replay(id)).toMatchObject({ status: 409, body: { reason: 'flight_log_unreadable' } });
    expect(api.dispatch.replays).toEqual([]);
  });
});

describe('an assistant', () => {
  it('tunes an agent and writes what is recommended into its draft', async () => {
    for (let seed = 1; seed <= 20; seed++) await endedCall(await storedLog(seed));
    const address = `${await api.app.listen({ port: 0, host: '127.0.0.1' })}/mcp?sections=agents`;
    const client = new Client({ name: 'assistant', version: '1' });
    const requestInit = { headers: { authorization: `Bearer ${user.key}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(address), { requestInit }));
    const call = async (name: string, input: Record<string, unknown>) => {
      const { content } = await client.callTool({ name, arguments: { agent_id: agentId, ...input } });
      return JSON.parse((content as { text?: string }[])[0]?.text ?? '');
    };
    const { calls, recommended } = await call('tune_agent_on_its_latest_calls', { calls: 20 });
    expect(calls).toBe(20);
    expect(recommended).not.toBeNull();
    const body = { conversation: recommended };
    await call('change_agent_draft_configuration', { body });
    const draft = await call('get_agent_draft_configuration', {});
    expect(draft.conversation).toMatchObject(recommended);
    await client.close();
  });
});

describe('the recommendation', () => {
  const result = (response_wait_ms: number, cut_off_share: number, saved_ms: number) => ({
    conversation: { response_wait_ms },
    cut_offs: 0,
    cut_off_share,
    saved_ms,
    saved_total_ms: saved_ms,
  });

  it('is the fastest setting that interrupts no more callers', () => {
    const [own, quick, fair] = [result(500, 0, 0), result(300, 0.5, 300), result(400, 0.01, 120)];
    expect(recommend([own, quick, fair])).toBe(fair);
  });

  it('is the current setting if none is better, and nothing without settings', () => {
    const own = result(500, 0, 0);
    expect(recommend([own, result(300, 0.5, 300)])).toBe(own);
    expect(recommend([])).toBeNull();
  });
});
