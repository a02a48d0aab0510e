import { describe, expect, it } from 'vitest';
import { isLastTenth, mayTakeLast, slotsOf } from '#control-plane/calls/workers/slots.ts';

const worker = (instanceId: string, kinds: ('web' | 'phone')[], capacity: number, freeSlots: number) => ({
  instanceId,
  kinds,
  capacity,
  freeSlots,
});

describe('slots', () => {
  it('are counted per kind, over the workers that accept that kind', () => {
    const workers = [
      worker('a', ['web'], 10, 4),
      worker('b', ['web', 'phone'], 20, 1),
      worker('c', ['phone'], 5, 5),
    ];
    expect(slotsOf(workers, 'web')).toEqual({ capacity: 30, free: 5, instanceIds: ['a', 'b'] });
  });

  it.each([
    [100, 11, 0, false],
    [100, 10, 0, true],
    [100, 15, 5, true],
    [100, 5, 9, true],
    [100, 0, 0, false],
    [19, 1, 0, true],
    [9, 1, 0, false],
    [2, 1, 0, false],
  ])(
    'security 5: are down to the last tenth of %i with %i free and %i being assigned: %s',
    (capacity, free, asked, expected) => {
      expect(isLastTenth({ capacity, free }, asked)).toBe(expected);
    },
  );

  it.each([
    ['who holds most while another account holds none', { a: 90 }, 2, false],
    ['who holds most while another holds fewer', { a: 85, b: 5 }, 2, false],
    ['who holds fewer than another', { a: 5, b: 85 }, 2, true],
    ['who holds none', { b: 90 }, 2, true],
    ['who holds as many as the others, when there are no more', { a: 45, b: 45 }, 2, true],
    ['who holds as many as another, while a third has none', { a: 45, b: 45 }, 3, false],
    ['who is alone', { a: 99 }, 1, true],
  ] as const)(
    'security 5: in the last tenth serve an account %s: %o of %i: %s',
    (_who, held, accounts, expected) => {
      expect(mayTakeLast('a', new Map(Object.entries(held)), accounts)).toBe(expected);
    },
  );
});

describe('a turn of a text session', () => {
  it('is for workers that say that they take them: one of the last release lists the same kinds', () => {
    const worker = { instanceId: 'a', kinds: ['analysis' as const, 'agent_test' as const], capacity: 9 };
    const now = { ...worker, takesText: true, freeSlots: 4 };
    const last = { ...worker, instanceId: 'b', freeSlots: 5 };
    expect(slotsOf([now, last], 'text_turn').instanceIds).toEqual(['a']);
    expect(slotsOf([now, last], 'agent_test').instanceIds).toEqual(['a', 'b']);
  });
});
