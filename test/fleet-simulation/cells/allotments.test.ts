import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLedger } from '#control-plane/accounts/wallet/ledger.ts';
import type { Ledger } from '#control-plane/platform/ledger.ts';
import { openTestStore, type TestStore } from '../../control-plane/test-store.ts';
import { Allotments, type TierMessage } from './allotments.ts';

const ALLOTMENT = 4_000_000;
const [HOME, AWAY] = [0, 1];
/** Longer than a question waits for its answer, and than a refused one for the next, ms. */
const WAITED_MS = 15_000;

let stores: TestStore[];
let account: string;
let accounts = 0;
let nowMs: number;
/** On their way, in the order in which they were sent. */
let messages: TierMessage[];
let cells: { readonly allotments: Allotments; readonly ledger: Ledger }[];

beforeAll(async () => {
  stores = [await openTestStore(), await openTestStore()];
});

afterAll(async () => {
  for (const store of stores) await store.close();
});

beforeEach(() => {
  account = `account-${accounts++}`;
  nowMs = 0;
  messages = [];
  cells = stores.map(({ models }, index) => {
    const ledger = createLedger({ entries: models.ledger, clock: systemClock });
    const host = {
      now: () => nowMs,
      ledger: <T>(use: (ledger: Ledger) => Promise<T>) => use(ledger),
      send: (message: TierMessage) => void messages.push(message),
    };
    const away = new Map(index === AWAY ? [[account, HOME]] : []);
    return { ledger, allotments: new Allotments(index, host, { amountMicros: ALLOTMENT, accounts: away }) };
  });
});

const allotmentsOf = (cell: number) => cells[cell]?.allotments as Allotments;
const ledgerOf = (cell: number) => cells[cell]?.ledger as Ledger;
const balanceOf = async (cell: number) => (await ledgerOf(cell).newest(account))?.balanceMicros ?? 0;

async function topUp(amountMicros: number, key = 'top-up'): Promise<void> {
  await ledgerOf(HOME).post({ userId: account, key, kind: 'top_up', amountMicros });
}

/** Takes from the way what the cells send next. */
async function nextMessage(): Promise<TierMessage> {
  return vi.waitFor(() => {
    const message = messages.shift();
    if (!message) throw new Error('no message was sent');
    return message;
  });
}

/** Time passes, the cell looks after its accounts and sends a message. */
async function looked(): Promise<TierMessage> {
  nowMs += WAITED_MS;
  allotmentsOf(AWAY).look();
  return nextMessage();
}

/** The message arrives, and is answered. */
async function answered(message: TierMessage): Promise<TierMessage> {
  allotmentsOf(message.to).take(message);
  return nextMessage();
}

/** The answer arrives, and nothing is open afterwards. */
async function arrived(answer: TierMessage): Promise<void> {
  allotmentsOf(answer.to).take(answer);
  await vi.waitFor(() => expect(allotmentsOf(answer.to).isQuiet).toBe(true));
}

describe('an allotment', () => {
  it('is subtracted and added once, though question and answer come twice', async () => {
    await topUp(3 * ALLOTMENT);
    const question = await looked();
    const answer = await answered(question);
    expect(await answered(question)).toEqual(answer);
    await arrived(answer);
    await arrived(answer);
    expect([await balanceOf(HOME), await balanceOf(AWAY)]).toEqual([2 * ALLOTMENT, ALLOTMENT]);
  });

  it('is subtracted once, though its answer was lost and the question is repeated', async () => {
    await topUp(3 * ALLOTMENT);
    const question = await looked();
    await answered(question);
    const repeated = await looked();
    expect(repeated).toEqual(question);
    await arrived(await answered(repeated));
    expect([await balanceOf(HOME), await balanceOf(AWAY)]).toEqual([2 * ALLOTMENT, ALLOTMENT]);
  });

  it('stays refused when its question comes again after a top-up', async () => {
    await topUp(ALLOTMENT - 1);
    const question = await looked();
    const refusal = await answered(question);
    await arrived(refusal);
    await topUp(ALLOTMENT, 'later');
    expect(await answered(question)).toEqual(refusal);
    expect([await balanceOf(HOME), await balanceOf(AWAY)]).toEqual([2 * ALLOTMENT - 1, 0]);
  });

  it('is granted to the next question after a top-up, and an old refusal does not answer that', async () => {
    const refusal = await answered(await looked());
    await arrived(refusal);
    await topUp(ALLOTMENT);
    const question = await looked();
    allotmentsOf(AWAY).take(refusal);
    expect(allotmentsOf(AWAY).isQuiet).toBe(false);
    await arrived(await answered(question));
    expect([await balanceOf(HOME), await balanceOf(AWAY)]).toEqual([0, ALLOTMENT]);
  });
});

describe('what is left of an allotment', () => {
  it('goes home once, though messages are lost and come twice', async () => {
    await topUp(ALLOTMENT);
    await arrived(await answered(await looked()));
    await ledgerOf(AWAY).post({ userId: account, key: 's:call', kind: 'settle', amountMicros: -1_000_000 });
    allotmentsOf(AWAY).giveBack();
    const returned = await looked();
    await answered(returned);
    const repeated = await looked();
    expect(repeated).toEqual(returned);
    const receipt = await answered(repeated);
    await arrived(receipt);
    await answered(returned);
    expect([await balanceOf(HOME), await balanceOf(AWAY)]).toEqual([ALLOTMENT - 1_000_000, 0]);
  });

  it('is a debt if calls went on without credit', async () => {
    await topUp(ALLOTMENT);
    await arrived(await answered(await looked()));
    await ledgerOf(AWAY).post({ userId: account, key: 's:call', kind: 'settle', amountMicros: -5_000_000 });
    allotmentsOf(AWAY).giveBack();
    await arrived(await answered(await looked()));
    expect([await balanceOf(HOME), await balanceOf(AWAY)]).toEqual([-1_000_000, 0]);
  });
});
