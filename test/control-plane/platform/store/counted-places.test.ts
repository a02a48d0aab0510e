import { beforeAll, beforeEach, expect, it } from 'vitest';
import { buildIndexes } from '#control-plane/platform/store/build-indexes.ts';
import {
  type CountedPlaces,
  freePlace,
  recountPlaces,
  takePlace,
} from '#control-plane/platform/store/counted-places.ts';
import { defineModels, type Models } from '#control-plane/platform/store/models.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';
import { onEveryDatabase } from './on-every-database.ts';

onEveryDatabase('places', (database) => {
  let models: Models;
  let clock: ManualClock;
  /** The stored holders, and whether each still counts. */
  let stored: Map<string, boolean>;
  let owner = 0;
  let places: CountedPlaces;
  const take = (id: string) => takePlace({ models, clock }, places, id);
  const ask = async (ids: readonly string[]) => (await Promise.all(ids.map(take))).filter(Boolean).length;
  const names = (count: number, name = 'h') => Array.from({ length: count }, (_, index) => `${name}${index}`);

  beforeAll(async () => {
    models = defineModels(database().connection);
    await buildIndexes(models);
  });
  beforeEach(() => {
    clock = new ManualClock();
    stored = new Map();
    places = { id: `calls:${owner++}`, limit: 3, statesOf: async () => stored };
  });

  it('store 2: twenty concurrent requests for three places get exactly three', async () => {
    expect(await ask(names(20))).toBe(3);
    expect(await take('late')).toBe(false);
  });

  it('store 2: holders from before counting began take their share of the places', async () => {
    places = { ...places, earlier: async () => ['old-0', 'old-1'] };
    expect(await ask(names(10))).toBe(1);
  });

  it('store 3: exactly as many places become free as holders have ended', async () => {
    for (const id of names(3)) stored.set(id, true);
    await ask(names(3));
    stored.set('h0', false).set('h2', false);
    expect(await ask(names(10, 'next'))).toBe(2);
  });

  it('store 3: the place of a holder that was never stored is freed after a minute', async () => {
    await ask(names(3));
    await clock.advance(59_000);
    expect(await take('late')).toBe(false);
    await clock.advance(2_000);
    expect(await take('late')).toBe(true);
  });

  it('a returned place is free at once, and forgotten places are counted anew', async () => {
    await ask(names(3));
    await freePlace({ models, clock }, places.id, 'h1');
    expect(await ask(names(5, 'next'))).toBe(1);
    await recountPlaces({ models }, places.id);
    places = { ...places, earlier: async () => ['h0'] };
    expect(await ask(names(5, 'again'))).toBe(2);
  });

  it('a holder that asks again keeps its place and takes no second one', async () => {
    await take('h0');
    expect(await take('h0')).toBe(true);
    expect(await ask(names(5, 'next'))).toBe(2);
    expect(await take('h0')).toBe(true);
  });

  it('a limit of zero gives no place', async () => {
    places = { ...places, limit: 0 };
    expect(await take('h')).toBe(false);
  });
});
