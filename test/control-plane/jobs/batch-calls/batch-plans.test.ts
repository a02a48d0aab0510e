import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inBatches } from '#control-plane/platform/store/in-batches.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';
import { openTestStore, type TestStore } from '../../test-store.ts';

const ROWS = 300;
const AT = new Date('2026-11-26T12:00:00Z');

let store: TestStore;

beforeAll(async () => {
  store = await openTestStore();
  const rows = Array.from({ length: ROWS }, (_, line) => ({
    _id: `row-${line}`,
    team_id: 'team',
    batch_id: 'batch',
    state: 'waiting',
    session_id: line === 7 ? 'session' : null,
    dialled_at: line === 7 ? AT : null,
    opted_out: line === 7,
    end_user_id: line === 7 ? 'ann' : null,
  }));
  await store.models.batchRows.collection.insertMany(rows as never[]);
});
afterAll(() => store.close());

describe('among the rows of a batch', () => {
  it.each([
    ['the row of a call', { session_id: 'session' }],
    [
      'the rows dialled in the last minute',
      { batch_id: 'batch', dialled_at: { $type: 'date', $gt: new Date(0) } },
    ],
    ['the rows that opted out', { batch_id: 'batch', opted_out: true }],
    ['the rows of a person', { team_id: 'team', end_user_id: 'ann' }],
  ])('%s are found without examining the others', async (_, filter) => {
    const explained = await store.models.batchRows.collection.find(filter as never).explain();
    expect(explained['executionStats']).toMatchObject({ nReturned: 1, totalDocsExamined: 1 });
  });
});

describe('work in batches', () => {
  it('pauses after each part for a multiple of the time it took', async () => {
    const clock = new ManualClock();
    const begun: number[] = [];
    const working = inBatches(
      clock,
      [1, 2, 3],
      async () => {
        begun.push(clock.now());
        await clock.sleep(10);
      },
      { size: 1, pauseFactor: () => 9 },
    );
    for (let step = 0; step < 30; step++) await clock.advance(10);
    await working;
    expect(begun.map((atMs) => atMs - (begun[0] ?? 0))).toEqual([0, 100, 200]);
  });
});
