import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CommandFault } from '#test/fakes/mongodb-server.ts';
import { type FaultyCalls, openFaultyCalls, phoneCall, type Tenant, webCall } from './faulty-calls.ts';

let calls: FaultyCalls;
beforeAll(async () => {
  calls = await openFaultyCalls();
});
afterAll(() => calls.close());

const LOST: CommandFault = { is: 'answer_lost' };
const REFUSED: CommandFault = { is: 'refused', code: 10_107 };

/** The store is away for this many commands from `first` on; the first of them was applied. */
function away(first: number, commands: number): ReadonlyMap<number, CommandFault> {
  const places = Array.from({ length: commands }, (_, index) => first + index);
  return new Map(places.map((place) => [place, place === first ? LOST : REFUSED]));
}

describe.each<[string, (calls: FaultyCalls, tenant: Tenant) => Promise<void>]>([
  ['a phone call', phoneCall],
  ['a web session', webCall],
])('%s', (_, call) => {
  it.each([
    ['one answer', 1],
    ['one answer and the next three commands', 4],
  ])('ends as an undisturbed one, whichever command loses %s', { timeout: 60_000 }, async (_name, length) => {
    const undisturbed = await calls.tenant();
    await call(calls, undisturbed);
    const first = await calls.tenant();
    const commands = await calls.countCommands(() => call(calls, first));
    await calls.settle();
    const expected = await calls.endState(undisturbed);
    const ends: Record<number, unknown> = {};
    for (let place = 0; place < commands; place++) {
      const tenant = await calls.tenant();
      await calls
        .withFaults(away(place, length), () => call(calls, tenant))
        .catch((error: Error) => {
          ends[place] = error.cause ?? error;
        });
      await calls.settle();
      ends[place] ??= await calls.endState(tenant);
    }
    expect(ends).toEqual(
      Object.fromEntries(Array.from({ length: commands }, (_zero, place) => [place, expected])),
    );
  });
});
