import { beforeEach, expect, it, vi } from 'vitest';
import { updateTogether } from '#control-plane/platform/store/gathered-updates.ts';
import { onEveryDatabase } from './on-every-database.ts';

/** Adds a note to a document that has `before` of them. */
const addNote = (id: string, before: number, operator = '$push') => ({
  filter: { _id: id, count: before },
  update: { $set: { count: before + 1 }, [operator]: { notes: before + 1 } },
  mark: { count: before + 1 },
});

onEveryDatabase('gathered updates', (database) => {
  const collection = () =>
    database().connection.collection<{ _id: string; count: number; notes: number[] }>('notes');
  const send = (...updates: readonly ReturnType<typeof addNote>[]) =>
    Promise.allSettled(
      updates.map((update) => updateTogether({ collection: collection() as never }, update)),
    );
  const stored = async (id: string) => (await collection().findOne({ _id: id }))?.notes;

  beforeEach(async () => {
    await collection().deleteMany({});
    await collection().insertMany(['a', 'b', 'c'].map((_id) => ({ _id, count: 0, notes: [] })));
  });

  it('that come at the same time are one command', async () => {
    const commands = (['bulkWrite', 'updateOne'] as const).map((name) => vi.spyOn(collection(), name));
    await send(addNote('a', 0), addNote('b', 0), addNote('c', 0));
    await send(addNote('a', 1));
    expect(commands.map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
    vi.restoreAllMocks();
    expect([await stored('a'), await stored('b')]).toEqual([[1, 2], [1]]);
  });

  it('say which of them were applied, and none is applied twice', async () => {
    const outcomes = await send(addNote('a', 0), addNote('b', 7), addNote('c', 0));
    expect(outcomes.map((outcome) => outcome.status === 'fulfilled' && outcome.value)).toEqual([
      true,
      false,
      true,
    ]);
    expect([await stored('a'), await stored('b'), await stored('c')]).toEqual([[1], [], [1]]);
  });

  it('that were not applied cost a command each, and one read finds the others', async () => {
    const names = ['bulkWrite', 'find', 'updateOne', 'findOne'] as const;
    const commands = names.map((name) => vi.spyOn(collection(), name));
    await send(addNote('a', 0), addNote('b', 7), addNote('c', 0));
    expect(commands.map(({ mock }) => mock.calls.length)).toEqual([1, 1, 1, 1]);
    vi.restoreAllMocks();
  });

  it('are applied once if two of them are the same', async () => {
    const outcomes = await send(addNote('a', 0), addNote('a', 0), addNote('b', 0));
    expect(outcomes.map((outcome) => outcome.status === 'fulfilled' && outcome.value)).toEqual([
      true,
      true,
      true,
    ]);
    expect([await stored('a'), await stored('b')]).toEqual([[1], [1]]);
  });

  it('are a hundred in one command at most', async () => {
    const ids = Array.from({ length: 250 }, (_, index) => `many ${index}`);
    await collection().insertMany(ids.map((_id) => ({ _id, count: 0, notes: [] })));
    const bulkWrite = vi.spyOn(collection(), 'bulkWrite');
    await send(...ids.map((id) => addNote(id, 0)));
    expect(bulkWrite.mock.calls.map(([operations]) => operations.length)).toEqual([100, 100, 50]);
    vi.restoreAllMocks();
    expect(await collection().countDocuments({ notes: [1] })).toBe(250);
  });

  it('fail one by one', async () => {
    const outcomes = await send(addNote('a', 0), addNote('b', 0, '$unheardOf'), addNote('c', 0));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect([await stored('a'), await stored('b'), await stored('c')]).toEqual([[1], [], [1]]);
  });
});
