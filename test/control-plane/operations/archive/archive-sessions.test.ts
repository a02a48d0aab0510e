import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Archiver, startArchive } from '#control-plane/operations/archive/archive-sessions.ts';
import { ANNOUNCED_MS, archivedMonths, monthOf } from '#control-plane/platform/store/session-archive.ts';
import { sampleIn } from '../../../fakes/metric-sample.ts';
import { dyingAfter } from '../analytics/dying-store.ts';
import { DAY_MS, openTestArchive, type TestArchive } from './archived-calls.ts';

let api: TestArchive;

beforeAll(async () => {
  api = await openTestArchive();
});
beforeEach(() => api.startAfresh());
afterAll(() => api.close());

describe('sessions that are archived', () => {
  it('are those created before the time, in the collection of their month', async () => {
    const ids = await api.copies(6, 20 * 24);
    const left = await api.archive(30);
    expect(left).toEqual(ids.slice(0, 2).sort());
    const months = await archivedMonths(api.context);
    expect(months.length).toBeGreaterThan(1);
    for (const { name, collection } of months)
      for (const session of await collection.find({}).toArray())
        expect(monthOf(session['created_at'])).toBe(name);
  });

  it('are those with which nothing is left to do', async () => {
    const [done, ...others] = await api.copies(
      6,
      24,
      (index) =>
        [{}, { due: 2 }, { uncounted: true }, { status: 'active', due: 1 } as const, { due: 8 }, { due: 4 }][
          index
        ] ?? {},
    );
    expect(await api.archive()).toEqual(others.sort());
    expect((await api.places()).archive).toEqual([done]);
  });

  it('are read as before', async () => {
    const id = await api.finished();
    const paths = ['', '/deliveries', '/recording'].map((path) => `/v1/agent/sessions/${id}${path}`);
    const read = () => Promise.all(paths.map(async (path) => (await api.get(path)).body));
    const before = await read();
    expect(await api.archive()).toEqual([]);
    expect(await read()).toEqual(before);
    expect((await api.get(`/v1/agent/sessions/${id}`)).status).toBe(200);
  });

  it.each(['cursor', 'page'] as const)('are listed with the others, page by page (%s)', async (by) => {
    // Three of each time: pages end between sessions of the same millisecond, too.
    await api.copies(30, 0, (index) => ({
      created_at: new Date(api.clock.wallTime() - Math.floor(index / 3) * 9 * DAY_MS),
      ...(index % 4 === 0
        ? {
            status: 'failed',
            end_reason: 'dial_failed',
            direction: 'outbound',
            caller_number: '+15550100077',
          }
        : {}),
    }));
    const filters = [
      '',
      `&agent_id=${api.agentId()}`,
      '&status=failed',
      '&end_reason=dial_failed',
      '&caller_number=%2B15550100077',
      `&created_before=${encodeURIComponent(api.at(-20 * DAY_MS))}`,
    ];
    const lists = () => Promise.all(filters.map((filter) => api.list(filter, by)));
    const before = await lists();
    expect(before[0]).toHaveLength(30);
    expect(await api.archive(20)).toHaveLength(9);
    expect(await lists()).toEqual(before);
    const { body } = await api.get('/v1/agent/sessions?include_total=true&page_size=4');
    expect(body.total).toBe(30);
  });

  it('are in the statistics, also where these are read from sessions', async () => {
    await api.copies(5, 1);
    // The sums do not have all calls.
    await api.context.models.callCountStates.deleteMany({});
    const [from, to] = [api.at(-6 * 3_600_000), api.at(60_000)].map(encodeURIComponent);
    const question = `/v1/agent/analytics?interval=hour&from=${from}&to=${to}`;
    const before = (await api.get(question)).body;
    expect(await api.archive()).toEqual([]);
    expect((await api.get(question)).body).toEqual(before);
    expect(before.totals.calls).toBe(5);
  });

  it('are moved by one replica at a time', async () => {
    await api.copies(2, 1);
    await api.archive(1_000);
    await api.context.models.sessionArchives.updateOne(
      { _id: 'state' },
      { $set: { lease_by: 'another', lease_until: new Date(api.clock.wallTime() + 1_000_000) } },
    );
    expect(await api.archive()).toHaveLength(2);
  });

  it('are moved every hour with the setting, in a month that every replica knows, and are counted', async () => {
    const set = await openTestArchive({ ARCHIVE_SESSIONS_DAYS: '30' });
    await set.newTenant();
    const ids = await set.copies(3, 20 * 24);
    const archive = startArchive(set.context);
    const minutes = async (count: number) => {
      for (let minute = 0; minute < count; minute++) {
        await archive.idle();
        await set.clock.advance(ANNOUNCED_MS);
      }
      await archive.idle();
    };
    await minutes(1);
    expect((await set.places()).sessions).toHaveLength(3);
    await minutes(1);
    expect((await set.places()).archive).toEqual([ids[2]]);
    expect(sampleIn((await set.get('/metrics')).text, 'parley_sessions_archived_total')).toBe(1);
    set.clock.stall(20 * DAY_MS);
    await minutes(3);
    expect((await set.places()).archive).toHaveLength(2);
    await archive.close();
    await set.close();
  });
});

describe('an archiving process that is killed', () => {
  const WRITES = 8;
  it.each(
    Array.from({ length: WRITES }, (_, writes) =>
      [false, true].map((isApplied) => [writes, isApplied] as const),
    ).flat(),
  )('after %i writes (answered: %s) leaves each session once for every reader', async (writes, isApplied) => {
    const ids = await api.copies(25, 12);
    const before = new Date(api.clock.wallTime() + 1);
    // The time is announced, then the months.
    for (let times = 0; times < 2; times++) {
      await new Archiver(api.context, 'test').archive(before);
      await api.clock.advance(ANNOUNCED_MS);
    }
    const dying = new Archiver(dyingAfter(api.context, writes, isApplied), 'test');
    await dying.archive(before).catch(() => undefined);
    expect(await api.list()).toEqual(ids);
    for (const id of ids.slice(0, 3)) expect((await api.get(`/v1/agent/sessions/${id}`)).status).toBe(200);
    await api.archive();
    expect(await api.places()).toEqual({ sessions: [], archive: [...ids].sort() });
    expect(await api.list()).toEqual(ids);
  });
});
