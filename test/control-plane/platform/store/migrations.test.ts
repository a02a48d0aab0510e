import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MIGRATIONS, type Migration, migrate } from '#control-plane/platform/store/migrations.ts';
import { DUE_BITS, dueIn } from '#control-plane/platform/store/session-due.ts';
import { openTestStore, type TestStore } from '../../test-store.ts';

const AT = new Date('2026-11-21T12:00:00Z');

let store: TestStore;

const connection = () => store.database.connection;
const recorded = async () =>
  (await connection().collection<{ _id: number }>('schema_versions').find({}).sort({ _id: 1 }).toArray()).map(
    ({ _id }) => _id,
  );

/** Steps that record their runs; the second one gives every user a nickname. */
function steps(ran: number[]): Migration[] {
  const note = (version: number, work: () => Promise<unknown> = async () => undefined): Migration => ({
    version,
    name: `step ${version}`,
    run: async () => {
      ran.push(version);
      await work();
    },
  });
  return [
    note(1),
    note(2, () =>
      store.models.users.collection.updateMany(
        { nickname: { $exists: false } },
        { $set: { nickname: 'Joe' } },
      ),
    ),
    note(3),
  ];
}

it('versions of stored data count from 1 without gaps', () => {
  expect(MIGRATIONS.map(({ version }) => version)).toEqual(MIGRATIONS.map((_, index) => index + 1));
});

describe('migrating', () => {
  beforeEach(async () => {
    store = await openTestStore();
  });
  afterEach(() => store.close());

  it('steps run in order, once, and are recorded', async () => {
    const ran: number[] = [];
    await connection().collection<{ _id: string }>('users').insertOne({ _id: 'ann' });
    expect(await migrate(connection(), AT, steps(ran).slice(0, 1))).toBe(1);
    expect(await migrate(connection(), AT, steps(ran))).toBe(3);
    expect(await migrate(connection(), AT, steps(ran))).toBe(3);
    expect(ran).toEqual([1, 2, 3]);
    expect(await recorded()).toEqual([1, 2, 3]);
    expect(await connection().collection<{ _id: string }>('users').findOne({ _id: 'ann' })).toMatchObject({
      nickname: 'Joe',
    });
  });

  it('security 13: numbers bought before are proven; imported ones are not and can be imported again', async () => {
    const numbers = connection().collection<{ _id: string; is_proven?: boolean }>('numbers');
    await numbers.createIndex(
      { phone_number: 1 },
      { unique: true, partialFilterExpression: { status: { $in: ['provisioning', 'active'] } } },
    );
    const stored = { phone_number: '+4930123456', status: 'active' };
    await numbers.insertMany([
      { _id: 'bought', ...stored, phone_number: '+15550100001', provider: 'managed' },
      { _id: 'imported', ...stored, provider: 'sip' },
    ] as never[]);
    for (let times = 0; times < 2; times++)
      await MIGRATIONS.find(({ version }) => version === 2)?.run(connection());
    expect((await numbers.find({ is_proven: true }).toArray()).map(({ _id }) => _id)).toEqual(['bought']);
    await numbers.insertOne({ _id: 'again', team_id: 'another', ...stored, provider: 'sip' } as never);
  });

  it('what is due in the sessions of an earlier release is found by its new field', async () => {
    const { sessions } = store.models;
    const ended = { status: 'completed', billing: { state: 'settled' }, analysis: { state: 'completed' } };
    const stored = {
      live: { ...ended, status: 'active' },
      settlement: { ...ended, billing: { state: 'settle_due' } },
      outbox: { ...ended, outbox: [{ id: 'a', at: AT }] },
      analysis: { ...ended, analysis: { state: 'queued' } },
      analysing: { ...ended, analysis: { state: 'running' } },
      done: { ...ended, outbox: [] },
    };
    await sessions.collection.insertMany(
      Object.entries(stored).map(([_id, session]) => ({ _id, ...session })) as never[],
    );
    for (let times = 0; times < 2; times++)
      await MIGRATIONS.find(({ version }) => version === 6)?.run(connection());
    // Shares and scores are of later releases.
    const { share: _share, score: _score, ...kinds } = DUE_BITS;
    for (const kind of Object.keys(kinds) as (keyof typeof kinds)[])
      expect((await sessions.find(dueIn(kind), { _id: 1 }).lean()).map(({ _id }) => _id)).toEqual([kind]);
  });

  it('an interrupted step runs again at the next start', async () => {
    const ran: number[] = [];
    const [first, second, third] = steps(ran) as [Migration, Migration, Migration];
    const broken = { ...second, run: () => Promise.reject(new Error('power cut')) };
    await expect(migrate(connection(), AT, [first, broken, third])).rejects.toThrow('power cut');
    expect(await recorded()).toEqual([1]);
    await migrate(connection(), AT, [first, second, third]);
    expect(ran).toEqual([1, 2, 3]);
  });

  it('two replicas that start at once agree', async () => {
    const ran: number[] = [];
    await Promise.all([migrate(connection(), AT, steps(ran)), migrate(connection(), AT, steps(ran))]);
    expect(await recorded()).toEqual([1, 2, 3]);
  });

  it('a store written by a newer program is rejected with one line and left unchanged', async () => {
    const ran: number[] = [];
    await migrate(connection(), AT, steps([]));
    await expect(migrate(connection(), AT, steps(ran).slice(0, 2))).rejects.toThrow(
      /^the database was written by a newer release \(schema 3, this one knows 2\): start that release, or restore a backup made before it$/,
    );
    expect(ran).toEqual([]);
  });
});
