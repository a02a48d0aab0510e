import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
