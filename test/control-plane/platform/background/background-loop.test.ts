import { afterEach, describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import {
  type BackgroundLoop,
  startBackgroundLoop,
} from '#control-plane/platform/background/background-loop.ts';
import { createWorkSignals } from '#control-plane/platform/background/work-signals.ts';
import { ManualClock } from '../../../fakes/manual-clock.ts';

const EVERY_MS = 2_000;

describe('background work of the only process that writes to the store', () => {
  const clock = new ManualClock();
  let writes = 0;
  let otherWrites = 0;
  const context = {
    clock,
    logger: createLogger({ level: 'silent', name: 'test' }),
    workSignals: createWorkSignals(),
    storeWrites: (names?: readonly string[]) => (names ? writes : writes + otherWrites),
  };
  let loop: BackgroundLoop | null = null;
  afterEach(() => loop?.close());

  async function start(
    isDone: () => boolean,
    during: () => void = () => undefined,
    waitsFor?: readonly ['sessions'],
  ) {
    const counted = { runs: 0, turns: 0 };
    loop = startBackgroundLoop(
      context,
      {
        name: 'test',
        everyMs: EVERY_MS,
        isDone: async () => isDone(),
        always: () => counted.turns++,
        ...(waitsFor && { waitsFor }),
      },
      async () => {
        counted.runs += 1;
        during();
      },
    );
    await loop.idle();
    return counted;
  }

  async function pass(ticks: number) {
    for (let tick = 0; tick < ticks; tick++) {
      await clock.advance(EVERY_MS);
      await loop?.idle();
    }
  }

  it('is done again after a write if something is open then', async () => {
    let isOpen = false;
    const counted = await start(
      () => !isOpen,
      () => {
        isOpen = false;
      },
    );
    await pass(5);
    expect(counted).toEqual({ runs: 1, turns: 6 });
    writes += 1;
    await pass(5);
    expect(counted).toEqual({ runs: 1, turns: 11 });
    writes += 1;
    isOpen = true;
    await pass(5);
    expect(counted).toEqual({ runs: 2, turns: 16 });
  });

  it('asks whether something is open once after each write that it waits for', async () => {
    let asked = 0;
    const isDone = () => {
      asked += 1;
      return true;
    };
    await start(isDone, undefined, ['sessions']);
    await pass(3);
    expect(asked).toBe(1);
    otherWrites += 1;
    await pass(3);
    expect(asked).toBe(1);
    writes += 1;
    await pass(3);
    expect(asked).toBe(2);
  });

  it('misses nothing that was written while it asked', async () => {
    let isOpen = false;
    const counted = await start(
      () => {
        const isDone = !isOpen;
        if (counted?.runs === 1 && !isOpen) {
          isOpen = true;
          writes += 1;
        }
        return isDone;
      },
      () => {
        isOpen = false;
      },
    );
    await pass(1);
    expect(counted.runs).toBe(1);
    await pass(1);
    expect(counted.runs).toBe(2);
  });

  it('is done again after a minute, in case a write was not counted', async () => {
    const counted = await start(() => true);
    await pass(29);
    expect(counted.runs).toBe(1);
    await pass(1);
    expect(counted.runs).toBe(2);
  });

  it('goes on while something is open that only time can end', async () => {
    let isDone = false;
    const counted = await start(() => isDone);
    await pass(3);
    expect(counted.runs).toBe(4);
    isDone = true;
    await pass(3);
    expect(counted.runs).toBe(4);
  });

  it('misses nothing that was written during its run', async () => {
    let writesLeft = 2;
    let isOpen = false;
    const counted = await start(
      () => !isOpen,
      () => {
        isOpen = writesLeft-- > 0;
        if (isOpen) writes += 1;
      },
    );
    await pass(5);
    expect(counted.runs).toBe(3);
  });

  it('is done at every tick where other processes write to the store, too', async () => {
    let runs = 0;
    const shared = { ...context, storeWrites: undefined };
    loop = startBackgroundLoop(
      shared,
      { name: 'test', everyMs: EVERY_MS, isDone: async () => true },
      async () => {
        runs += 1;
      },
    );
    await loop.idle();
    await pass(3);
    expect(runs).toBe(4);
  });
});
