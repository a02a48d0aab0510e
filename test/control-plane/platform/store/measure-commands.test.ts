import { afterAll, beforeAll, expect, it } from 'vitest';
import { measureCommands } from '#control-plane/platform/store/measure-commands.ts';
import { openTestStore, type TestStore } from '../../test-store.ts';

let store: TestStore;
const counted: string[] = [];

beforeAll(async () => {
  store = await openTestStore();
  let ms = 0;
  measureCommands(
    store.models.replicas,
    (command, outcome, took) => counted.push(`${command} ${outcome} ${took}`),
    () => ++ms,
  );
});
afterAll(() => store.close());

it('a duplicate key is an answer of the database, an update it refuses an error', async () => {
  const { collection } = store.models.replicas;
  const document = { _id: 'twice' } as never;
  await collection.insertOne(document);
  await expect(collection.insertOne(document)).rejects.toMatchObject({ code: 11_000 });
  await expect(collection.bulkWrite([{ insertOne: { document } }])).rejects.toMatchObject({ code: 11_000 });
  await expect(collection.updateOne({}, { $unheardOf: { a: 1 } } as never)).rejects.toThrow();
  expect(counted).toEqual(['insert ok 1', 'insert ok 1', 'bulk_write ok 1', 'update error 1']);
});
