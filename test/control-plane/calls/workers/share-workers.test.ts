import { beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { shareWorkers } from '#control-plane/calls/workers/share-workers.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';

const MINUTE_MS = 60_000;
const logger = createLogger({ level: 'silent', name: 'test' });

let clock: ManualClock;
let own: string[];
let others: number[];
/** Closed links, in order. */
let closed: string[];
let isDraining: boolean;
/** Where a worker connects whose link was closed. */
let reconnect: (id: string) => void;

beforeEach(() => {
  clock = new ManualClock();
  own = ['a', 'b', 'c', 'd'];
  others = [0];
  closed = [];
  isDraining = false;
  reconnect = () => {
    others = [(others[0] ?? 0) + 1];
  };
  const sharing = shareWorkers({
    clock,
    logger,
    workers: {
      has: (id) => own.includes(id),
      get size() {
        return own.length;
      },
      get isDraining() {
        return isDraining;
      },
      closeQuietest: () => {
        const id = own.shift() ?? null;
        if (id !== null) {
          closed.push(id);
          reconnect(id);
        }
        return id;
      },
    },
    others: { workerCounts: () => others },
  });
  return () => sharing.cancel();
});

describe('a replica with more workers than another', () => {
  it('closes the link of one at a time, until they have about the same number', async () => {
    await clock.advance(15_000);
    expect(closed).toEqual(['a']);
    await clock.advance(5 * MINUTE_MS);
    expect([own.length, others[0]]).toEqual([2, 2]);
  });

  it('tries less and less often while its workers come back to it', async () => {
    reconnect = (id) => void own.push(id);
    await clock.advance(60 * MINUTE_MS);
    expect(closed.length).toBeGreaterThan(5);
    expect(closed.length).toBeLessThan(14);
  });

  it.each([
    ['is alone', [], false],
    ['has one more', [3], false],
    ['is draining', [0], true],
  ])('closes none if it %s', async (_, counts, drains) => {
    others = counts;
    isDraining = drains;
    await clock.advance(5 * MINUTE_MS);
    expect(closed).toEqual([]);
  });
});
