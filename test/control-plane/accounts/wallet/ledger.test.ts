import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Fault } from '#config/errors.ts';
import { createLedger } from '#control-plane/accounts/wallet/ledger.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';
import { openTestStore, type TestStore } from '../../test-store.ts';

let store: TestStore;
let users = 0;
const clock = new ManualClock();
const newUser = () => `user-${users++}`;
const newLedger = () => createLedger({ entries: store.models.ledger, clock });

beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());

describe('the ledger', () => {
  it('stores balance and top-ups with every entry, numbered from 1', async () => {
    const [ledger, userId] = [newLedger(), newUser()];
    await ledger.post({ userId, key: 'start', kind: 'top_up', amountMicros: 1_000 });
    await ledger.post({ userId, key: 'a', kind: 'hold', amountMicros: -400, floorMicros: 0 });
    const wallet = await ledger.wallet(userId);
    expect([wallet?.first.key, wallet?.first.seq]).toEqual(['start', 1]);
    expect(wallet?.newest).toMatchObject({
      seq: 2,
      key: 'a',
      balanceMicros: 600,
      cumulativeTopUpMicros: 1_000,
    });
    expect(await ledger.verify(userId)).toBeNull();
  });

  it('returns the same entry for a repeated key, whatever the second posting contains', async () => {
    const [ledger, userId] = [newLedger(), newUser()];
    const first = await ledger.post({ userId, key: 's:1:hold', kind: 'void', amountMicros: 0 });
    const late = await ledger.post({
      userId,
      key: 's:1:hold',
      kind: 'hold',
      amountMicros: -60,
      floorMicros: 0,
    });
    expect(late).toEqual(first);
    const answers = await Promise.all(
      Array.from({ length: 200 }, () =>
        ledger.post({ userId, key: 'once', kind: 'top_up', amountMicros: 5 }),
      ),
    );
    expect(new Set(answers.map((entry) => entry.seq))).toEqual(new Set([2]));
    expect((await ledger.wallet(userId))?.newest.balanceMicros).toBe(5);
  });

  it('refuses to go below a floor, and without a floor allows any balance', async () => {
    const [ledger, userId] = [newLedger(), newUser()];
    const refused = await ledger
      .post({ userId, key: 'a', kind: 'hold', amountMicros: -1, floorMicros: 0 })
      .catch((error: unknown) => error);
    expect([refused instanceof Fault && refused.code, await ledger.wallet(userId)]).toEqual([
      'out_of_credit',
      null,
    ]);
    expect((await ledger.post({ userId, key: 'b', kind: 'settle', amountMicros: -7 })).balanceMicros).toBe(
      -7,
    );
  });

  it('passes exactly the fifty covered holds of a hundred concurrent ones in two processes', async () => {
    const userId = newUser();
    const [one, two] = [newLedger(), newLedger()];
    await one.post({ userId, key: 'start', kind: 'top_up', amountMicros: 3_000_000 });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 100 }, (_, index) =>
        (index % 2 === 0 ? one : two).post({
          userId,
          key: `h${index}`,
          kind: 'hold',
          amountMicros: -60_000,
          floorMicros: 0,
        }),
      ),
    );
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled').length).toBe(50);
    expect((await one.wallet(userId))?.newest).toMatchObject({ balanceMicros: 0, seq: 51 });
    expect(await one.verify(userId)).toBeNull();
  });

  it('inserts postings of one process that wait for one another together', async () => {
    const [ledger, userId] = [newLedger(), newUser()];
    const insertMany = vi.spyOn(store.models.ledger.collection, 'insertMany');
    await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        ledger.post({ userId, key: `p${index}`, kind: 'settle', amountMicros: -1 }),
      ),
    );
    expect(insertMany).toHaveBeenCalledTimes(5);
    insertMany.mockRestore();
    expect((await ledger.wallet(userId))?.newest).toMatchObject({ seq: 100, balanceMicros: -100 });
    expect(await ledger.verify(userId)).toBeNull();
  });

  it('posts each key once, and adds up, when five processes post what others post, too', async () => {
    const userId = newUser();
    const ledgers = Array.from({ length: 5 }, newLedger);
    const entries = await Promise.all(
      ledgers.flatMap((ledger, process) =>
        Array.from({ length: 60 }, (_, index) => {
          const key = index % 3 === 0 ? `shared-${index}` : `own-${process}-${index}`;
          return ledger.post({ userId, key, kind: 'settle', amountMicros: -1 - index });
        }),
      ),
    );
    const keys = new Set(entries.map(({ key }) => key));
    expect(keys.size).toBe(20 + 5 * 40);
    expect(new Set(entries.map(({ seq }) => seq)).size).toBe(keys.size);
    expect((await ledgers[0]?.wallet(userId))?.newest.seq).toBe(keys.size);
    expect(await ledgers[0]?.verify(userId)).toBeNull();
  });

  it('gives each posting of a batch its own outcome', async () => {
    const [ledger, userId] = [newLedger(), newUser()];
    await ledger.post({ userId, key: 'start', kind: 'top_up', amountMicros: 100 });
    const post = (key: string, amountMicros: number) =>
      ledger.post({ userId, key, kind: 'hold', amountMicros, floorMicros: 0 }).then(
        ({ balanceMicros }) => balanceMicros,
        (error: unknown) => error instanceof Fault && error.code,
      );
    const first = post('a', -40);
    const outcomes = [post('too much', -70), post('b', -50), post('a', -40), post('c', -10), post('d', -1)];
    expect([await first, ...(await Promise.all(outcomes))]).toEqual([
      60,
      'out_of_credit',
      10,
      60,
      0,
      'out_of_credit',
    ]);
  });

  it('refuses only what the credit does not cover, whatever waits before it and fails', async () => {
    const [ledger, userId] = [newLedger(), newUser()];
    const stale = newLedger();
    await stale.post({ userId, key: 'start', kind: 'top_up', amountMicros: 50 });
    await ledger.post({ userId, key: 'taken', kind: 'hold', amountMicros: -50, floorMicros: 0 });
    await ledger.post({ userId, key: 'more', kind: 'top_up', amountMicros: 50 });
    // By its cached entry the second would not be covered after the first, which is stored already.
    const post = (key: string) =>
      stale.post({ userId, key, kind: 'hold', amountMicros: -50, floorMicros: 0 });
    const outcomes = await Promise.allSettled([post('taken'), post('b')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
    expect((await ledger.wallet(userId))?.newest.balanceMicros).toBe(0);
  });

  it('does not refuse a posting for another one of its key that lacks credit', async () => {
    const [ledger, userId] = [newLedger(), newUser()];
    const [hold, cancelled] = await Promise.allSettled([
      ledger.post({ userId, key: 's:hold', kind: 'hold', amountMicros: -60, floorMicros: 0 }),
      ledger.post({ userId, key: 's:hold', kind: 'void', amountMicros: 0 }),
    ]);
    expect([hold?.status, cancelled?.status]).toEqual(['rejected', 'fulfilled']);
    expect((await ledger.wallet(userId))?.newest).toMatchObject({ kind: 'void', seq: 1 });
  });

  it('gives all postings that wait together the error of the database, and posts the next ones', async () => {
    const [ledger, userId] = [newLedger(), newUser()];
    const insertMany = vi
      .spyOn(store.models.ledger.collection, 'insertMany')
      .mockRejectedValueOnce(new Error('away'));
    const post = (key: string) => ledger.post({ userId, key, kind: 'settle', amountMicros: -1 });
    const outcomes = await Promise.allSettled([post('a'), post('b')]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    insertMany.mockRestore();
    expect((await post('a')).seq).toBe(1);
  });

  it('is verified entry by entry: the error names the entry that does not add up', async () => {
    const [ledger, userId] = [newLedger(), newUser()];
    for (const key of ['a', 'b', 'c']) await ledger.post({ userId, key, kind: 'top_up', amountMicros: 10 });
    await store.models.ledger.updateOne({ user_id: userId, key: 'b' }, { $set: { amount: 11 } });
    expect(await ledger.verify(userId)).toMatchObject({ seq: 2, problem: 'balance 20 is not the sum 21' });
  });

  it('contains only whole micro-dollars', async () => {
    await expect(
      newLedger().post({ userId: newUser(), key: 'a', kind: 'top_up', amountMicros: 0.5 }),
    ).rejects.toThrow('integer');
  });
});
