import { expect, it } from 'vitest';
import { FairQueue } from '#media/speech/fair-queue.ts';

/** The order in which a queue returns all its entries. */
function order(queue: FairQueue<string>): string[] {
  const items: string[] = [];
  for (let item = queue.next(); item; item = queue.next()) items.push(item);
  return items;
}

it('accounts alternate by what they have received, and each account’s pieces stay in order', () => {
  const queue = new FairQueue<string>(0);
  for (const piece of ['a1', 'a2', 'a3']) queue.add('a', piece, 2);
  for (const piece of ['b1', 'b2', 'b3', 'b4']) queue.add('b', piece, 1);
  expect(order(queue)).toEqual(['a1', 'b1', 'b2', 'a2', 'b3', 'b4', 'a3']);
});

it('a new account goes first until its head start is used up, and then alternates with the others', () => {
  const queue = new FairQueue<string>(2);
  for (let n = 1; n <= 9; n++) queue.add('greedy', `g${n}`, 1);
  expect([queue.next(), queue.next(), queue.next()]).toEqual(['g1', 'g2', 'g3']);
  for (const piece of ['m1', 'm2', 'm3']) queue.add('modest', piece, 1);
  expect([queue.next(), queue.next(), queue.next(), queue.next()]).toEqual(['m1', 'm2', 'm3', 'g4']);
  for (const piece of ['m4', 'm5']) queue.add('modest', piece, 1);
  expect(order(queue)).toEqual(['m4', 'g5', 'm5', 'g6', 'g7', 'g8', 'g9']);
});

it('only two hundred idle accounts are remembered; the oldest counts as new again', () => {
  const turn = (others: number) => {
    const queue = new FairQueue<string>(2);
    for (const piece of ['g1', 'g2', 'g3']) queue.add('greedy', piece, 1);
    order(queue);
    for (let n = 0; n < others; n++) queue.add(`account ${n}`, 'once', 0.5);
    order(queue);
    for (const piece of ['m1', 'm2']) queue.add('modest', piece, 1);
    queue.add('greedy', 'g4', 1);
    return order(queue);
  };
  expect(turn(150)).toEqual(['m1', 'm2', 'g4']);
  expect(turn(250)).toEqual(['m1', 'g4', 'm2']);
});

it('removed pieces and pieces of an emptied queue are not returned', () => {
  const queue = new FairQueue<string>(1);
  for (const piece of ['a1', 'a2', 'a3']) queue.add('a', piece, 1);
  queue.add('b', 'b1', 1);
  queue.remove('a2');
  expect([queue.next(), queue.next(), queue.next()]).toEqual(['a1', 'b1', 'a3']);
  queue.add('a', 'a4', 1);
  expect(queue.drain()).toEqual(['a4']);
  expect(queue.next()).toBeUndefined();
});
