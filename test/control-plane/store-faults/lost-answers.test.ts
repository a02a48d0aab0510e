import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CommandFault } from '#test/fakes/mongodb-server.ts';
import { createRandom } from '#test/simulation/random.ts';
import {
  type FaultyCalls,
  openFaultyCalls,
  phoneCall,
  placedCall,
  type Tenant,
  webCall,
} from './faulty-calls.ts';

/** `STORE_SEEDS=500` tries more random disturbances; each call of a seed belongs to a tenant of its own. */
const SEEDS = Number(process.env['STORE_SEEDS'] ?? 10);
/** A sweep that is not complete takes every third command; each kind of call begins with another one. */
const EVERY = process.env['STORE_SEEDS'] === undefined ? 3 : 1;
const PATIENCE = { timeout: 60_000 + SEEDS * 2_000 };
/** Places of commands that are disturbed at random; a call has fewer. */
const PLACES = 60;
const CHANCE = 0.12;

/** How an undisturbed call ends. */
const COMPLETE = {
  completed: 1,
  unfinished: [],
  undelivered: [],
  leakedSlots: 0,
  ledgerFlaw: null,
  events: expect.arrayContaining(['call.ended to first', 'call.ended to second']),
};

type Faults = ReadonlyMap<number, CommandFault>;

const LOST: CommandFault = { is: 'answer_lost' };
const appliedThen = (code: number): CommandFault => ({ is: 'applied_then', code });
const KINDS: readonly CommandFault[] = [
  LOST,
  { is: 'command_lost' },
  ...[91, 64].map(appliedThen),
  ...[10_107, 13_435, 11_600, 11_602, 189, 91, 10_058, 13_436].map(
    (code) => ({ is: 'refused', code }) as const,
  ),
];

let calls: FaultyCalls;
beforeAll(async () => {
  calls = await openFaultyCalls();
});
afterAll(() => calls.close());

/** The store is away for this many commands from `first` on; the first of them was applied. */
function away(first: number, commands: number): Faults {
  const refused: CommandFault = { is: 'refused', code: 10_107 };
  return new Map(
    Array.from({ length: commands }, (_, index) => [first + index, index === 0 ? LOST : refused]),
  );
}

function atRandom(seed: number): Faults {
  const random = createRandom(seed);
  const places = Array.from({ length: PLACES }, (_, place) => place).filter(() => random.chance(CHANCE));
  return new Map(places.map((place) => [place, random.pick(KINDS)]));
}

describe.each<[string, number, (calls: FaultyCalls, tenant: Tenant) => Promise<void>]>([
  ['a phone call', 0, phoneCall],
  ['a web session', 1, webCall],
  ['a placed call', 2, placedCall],
])('%s', (_, offset, call) => {
  /** Disturbs one call in each of these ways; resolves with how each ended, and how it should have. */
  async function outcomes(disturbances: ReadonlyMap<string, Faults>) {
    const undisturbed = await calls.tenant();
    await call(calls, undisturbed);
    const disturbed = new Map<string, Tenant>();
    for (const [name, faults] of disturbances) {
      const tenant = await calls.tenant();
      await calls.withFaults(faults, () => call(calls, tenant));
      disturbed.set(name, tenant);
    }
    await calls.settle();
    const expected = await calls.endState(undisturbed);
    expect(expected).toMatchObject(COMPLETE);
    const ends: Record<string, unknown> = {};
    for (const [name, tenant] of disturbed) ends[name] = await calls.endState(tenant);
    return { ends, expected: Object.fromEntries(Object.keys(ends).map((name) => [name, expected])) };
  }

  it.each<[string, number, (place: number) => Faults]>([
    ['loses one answer', 1, (place) => new Map([[place, LOST]])],
    ['loses one answer and meets a store that is away', EVERY, (place) => away(place, 4)],
    ['is applied by a primary that shuts down', EVERY, (place) => new Map([[place, appliedThen(91)]])],
    ['is applied without a majority in time', EVERY, (place) => new Map([[place, appliedThen(64)]])],
  ])('ends as an undisturbed one, whichever command %s', PATIENCE, async (_name, every, faultsAt) => {
    const first = await calls.tenant();
    const commands = await calls.countCommands(() => call(calls, first));
    const places = Array.from({ length: commands }, (_zero, place) => place).filter(
      (place) => place % every === offset % every,
    );
    const { ends, expected } = await outcomes(
      new Map(places.map((place) => [`command ${place}`, faultsAt(place)])),
    );
    expect(ends).toEqual(expected);
  });

  it(`ends as an undisturbed one after any of ${SEEDS} random series of errors`, PATIENCE, async () => {
    const seeds = Array.from({ length: SEEDS }, (_zero, seed) => seed + 1);
    const { ends, expected } = await outcomes(new Map(seeds.map((seed) => [`seed ${seed}`, atRandom(seed)])));
    expect(ends).toEqual(expected);
  });
});
