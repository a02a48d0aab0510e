import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { moveSessions } from '#control-plane/operations/archive/archive-sessions.ts';
import { enforceRetention } from '#control-plane/operations/privacy/retention.ts';
import {
  ANNOUNCED_MS,
  archivedMonths,
  monthNamed,
  monthOf,
  restoreArchived,
} from '#control-plane/platform/store/session-archive.ts';
import { LATENCY } from '../../calls/settlement/test-sessions.ts';
import { DAY_MS, openTestArchive, type TestArchive } from './archived-calls.ts';

let api: TestArchive;

beforeAll(async () => {
  api = await openTestArchive();
});
beforeEach(() => api.startAfresh());
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

/** The collection of this month, the same for all who ask. */
const thisMonth = () => monthNamed(api.context, monthOf(new Date(api.clock.wallTime())));

/** Runs `others` when an archiving process is about to write to the month, as if it was held up. */
function heldUpBefore(name: 'bulkWrite' | 'deleteMany', others: () => Promise<unknown>): void {
  const { collection } = thisMonth();
  const send = collection[name].bind(collection) as (...parameters: unknown[]) => never;
  vi.spyOn(collection, name).mockImplementationOnce((async (...parameters: unknown[]) => {
    await others();
    return send(...parameters);
  }) as never);
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

describe('a session that was put back by a process that was killed', () => {
  it('is erased by the next pass, if its person was erased at that moment', async () => {
    const id = await api.finished('erased');
    await api.archive();
    const [unerased] = await copiesOf(id);
    await erase({ end_user_id: 'erased' });
    await api.context.models.sessions.collection.insertOne(unerased as never);
    await api.archive();
    const copies = await copiesOf(id);
    expect(copies.length).toBeGreaterThan(0);
    for (const copy of copies) expect(copy).toMatchObject({ wrapped_key: null, end_user_id: null });
  });
});

describe('a session that two put back', () => {
  it('keeps the events of a change that came first, and nothing that retention has removed', async () => {
    const id = await api.finished();
    await api.archive();
    const { collection } = api.context.models.sessions;
    const tracks = { $set: { tracks: [{ role: 'user' }] } };
    await thisMonth().collection.updateOne({ _id: id } as never, tracks as never);
    const [archived] = await copiesOf(id);
    const event = { id: `${id}:call.analyzed`, event: 'call.analyzed', rank: 3, payload: Buffer.alloc(1) };
    const send = collection.insertOne.bind(collection);
    vi.spyOn(collection, 'insertOne').mockImplementationOnce((async (copy: never) => {
      await send({ ...archived, outbox: [event] } as never);
      await thisMonth().collection.updateOne({ _id: id } as never, { $set: { tracks: [] } } as never);
      return send(copy);
    }) as never);
    await restoreArchived(api.context, id);
    expect((await copiesOf(id))[0]).toMatchObject({ outbox: [{ id: event.id }], tracks: [] });
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

describe('an archiving process that is held up for longer than its lease', () => {
  const move = (id: string) => moveSessions(api.context, thisMonth(), [id]);

  it('does not replace what another has moved, and a person has had erased since', async () => {
    const id = await api.finished('erased');
    await api.archive(1_000);
    await api.context.models.sessionArchives.create({ _id: thisMonth().name, since: new Date(0) });
    heldUpBefore('bulkWrite', async () => {
      expect(await move(id)).toBe(1);
      expect((await erase({ end_user_id: 'erased' })).body.sessions).toBe(1);
    });
    await expect(move(id)).rejects.toThrow('duplicate key');
    expect(await copiesOf(id)).toMatchObject([{ wrapped_key: null, end_user_id: null }]);
  });

  it('does not take back the copy of another', async () => {
    const id = await api.finished();
    const { sessions, sessionArchives } = api.context.models;
    await sessionArchives.create({ _id: thisMonth().name, since: new Date(0) });
    beforeDeletion(() => sessions.updateOne({ _id: id }, { $inc: { last_seq: 1 } }));
    heldUpBefore('deleteMany', async () => expect(await move(id)).toBe(1));
    await move(id);
    expect(await api.places()).toEqual({ sessions: [], archive: [id] });
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

  it('remove what expires after it was put back among the sessions', async () => {
    const tracks = [{ role: 'user', segments: 1, rate_hz: 8_000, started_at: '', duration_ms: 1 }] as never;
    const at = (index: number) => new Date(api.clock.wallTime() - index * 5 * DAY_MS);
    // A long call: it was created before others that are due already, and is not due itself.
    const long = { created_at: at(4), ended_at: at(3), tracks };
    const [, oldest = ''] = await api.copies(2, 0, (index) => (index === 1 ? long : {}));
    await api.archive(12);
    await api.request('PATCH', '/v1/agent/privacy', { key: api.user().key, body: { recordings_days: 18 } });
    await enforceRetention(api.context, 'replica');
    await restoreArchived(api.context, oldest);
    // As after an attempt to archive it again, whose copy was taken back.
    for (const { collection } of await archivedMonths(api.context))
      await collection.deleteOne({ _id: oldest } as never);
    await api.clock.advance(5 * DAY_MS);
    await enforceRetention(api.context, 'replica');
    expect(await copiesOf(oldest)).toMatchObject([{ tracks: [] }]);
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
