import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { enforceRetention } from '#control-plane/operations/privacy/retention.ts';
import { ANNOUNCED_MS, archivedMonths } from '#control-plane/platform/store/session-archive.ts';
import { LATENCY } from '../../calls/settlement/test-sessions.ts';
import { DAY_MS, openTestArchive, type TestArchive } from './archived-calls.ts';

let api: TestArchive;

beforeAll(async () => {
  api = await openTestArchive();
});
beforeEach(async () => {
  for (const { collection } of await archivedMonths(api.context)) await collection.deleteMany({});
  await api.context.models.sessionArchives.deleteMany({});
  await api.context.models.sessions.deleteMany({});
  await api.clock.advance(ANNOUNCED_MS);
  await api.newTenant();
});
afterAll(() => api.close());

const post = (path: string, body?: object) =>
  api.request('POST', path, { key: api.user().key, ...(body && { body }) });
const erase = (body: object) => post('/v1/agent/erasures', body);

/** Everything stored of a session, wherever it is. */
async function copiesOf(id: string) {
  const { models } = api.context;
  const months = await archivedMonths(api.context);
  const found = await Promise.all(
    [models.sessions, ...months].map(({ collection }) => collection.findOne({ _id: id } as never)),
  );
  return found.filter((copy) => copy !== null);
}

/** Runs `change` after the sessions were copied, before they are deleted. */
function beforeDeletion(change: () => Promise<unknown>): void {
  const { collection } = api.context.models.sessions;
  const send = collection.bulkWrite.bind(collection);
  vi.spyOn(collection, 'bulkWrite').mockImplementationOnce(async (...parameters: unknown[]) => {
    await change();
    return send(...(parameters as Parameters<typeof send>));
  });
}

describe('an archived session that is changed', () => {
  it('is among the sessions again, and is archived anew', async () => {
    const id = await api.finished();
    await api.archive();
    expect((await post(`/v1/agent/sessions/${id}/analysis`)).status).toBe(202);
    expect((await api.places()).sessions).toEqual([id]);
    expect(await api.list()).toEqual([id]);
    await api.context.models.sessions.updateOne(
      { _id: id },
      { $set: { 'analysis.state': 'completed', due: 0 } },
    );
    await api.archive();
    expect(await api.places()).toEqual({ sessions: [], archive: [id] });
    expect((await copiesOf(id))[0]).toMatchObject({ analysis: { state: 'completed' } });
  });

  it('takes the late report of a worker', async () => {
    const id = await api.finished();
    const { epoch, last_seq } = (await api.context.models.sessions.findById(id).lean()) as never as Record<
      'epoch' | 'last_seq',
      number
    >;
    await api.archive();
    const late = { session_id: id, epoch, seq: last_seq + 1, report: { type: 'turn', latency: LATENCY } };
    expect(await api.sink.apply([late as never], 'worker-1')).toEqual({
      outcome: 'stored',
      seq: last_seq + 1,
    });
    expect((await copiesOf(id))[0]).toMatchObject({ last_seq: last_seq + 1, uncounted: true });
  });
});

describe('a session that is changed while it is archived', () => {
  it('by a report stays among the sessions', async () => {
    const id = await api.finished();
    await api.archive(1);
    await api.clock.advance(ANNOUNCED_MS);
    beforeDeletion(() => post(`/v1/agent/sessions/${id}/analysis`));
    expect(await api.archive()).toEqual([id]);
    expect((await api.places()).archive).toEqual([]);
  });

  it('by an erasure leaves no copy that can be read', async () => {
    const id = await api.finished('erased');
    beforeDeletion(() => erase({ end_user_id: 'erased' }));
    await api.archive();
    const copies = await copiesOf(id);
    expect(copies.length).toBeGreaterThan(0);
    for (const copy of copies) expect(copy).toMatchObject({ wrapped_key: null, end_user_id: null });
  });
});

describe('erasure, retention and backup', () => {
  it.each([
    ['the id of the team', { end_user_id: 'erased' }],
    ['a phone number', { phone_number: '+14155550123' }],
  ])('erase an archived person by %s', async (_, person) => {
    const id = await api.finished('erased');
    await api.context.models.sessions.updateOne({ _id: id }, { $set: { caller_number: '+14155550123' } });
    expect(await api.archive()).toEqual([]);
    expect((await erase(person)).body.sessions).toBe(1);
    expect(await copiesOf(id)).toMatchObject([{ wrapped_key: null, end_user_id: null, caller_number: null }]);
  });

  it('remove what has expired in the archive, once', async () => {
    const tracks = [{ role: 'user', segments: 1, rate_hz: 8_000, started_at: '', duration_ms: 1 }] as never;
    const at = (index: number) => new Date(api.clock.wallTime() - index * 5 * DAY_MS);
    const ids = await api.copies(8, 0, (index) => ({ created_at: at(index), ended_at: at(index), tracks }));
    expect(await api.archive(8)).toHaveLength(2);
    await api.request('PATCH', '/v1/agent/privacy', { key: api.user().key, body: { recordings_days: 18 } });
    await enforceRetention(api.context, 'replica');
    const kept = async () => {
      const all = await Promise.all(ids.map(async (id) => [id, (await copiesOf(id))[0]] as const));
      return all.filter(([, copy]) => copy?.['tracks'].length === 1).map(([id]) => id);
    };
    expect(await kept()).toEqual(ids.slice(0, 4));
    await api.clock.advance(5 * DAY_MS);
    const removed = vi.spyOn(api.context.blobs, 'deletePrefix');
    await enforceRetention(api.context, 'replica');
    expect(await kept()).toEqual(ids.slice(0, 3));
    expect(removed.mock.calls).toHaveLength(1);
    removed.mockRestore();
  });

  it('have the keys of archived sessions', async () => {
    const ids = [await api.finished(), await api.finished()];
    await api.archive();
    await api.finished();
    const answer = await api.request('POST', '/admin/backup/session-keys', { key: api.rootKey });
    const lines = answer.text.trim().split('\n');
    for (const id of ids) expect(lines.filter((line) => line.includes(id))).toHaveLength(1);
    expect(lines).toHaveLength(3);
  });
});
