import { beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { createBackgroundLoop } from '#control-plane/platform/background/background-loop.ts';
import {
  DatabaseWaitError,
  limitRequestWaits,
  RequestWait,
} from '#control-plane/platform/store/request-wait.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

const MOST_MS = 9_000;
/** Longer than a request may wait. */
const LONG_MS = 20_000;

let clock: ManualClock;
let isAnswered: boolean;
let wait: RequestWait;
beforeEach(() => {
  clock = new ManualClock();
  isAnswered = false;
  wait = new RequestWait(clock, () => isAnswered);
});

/** A collection whose commands take this long; an infinite time means that the database hangs. */
function collection(ms: number) {
  const command = async () => {
    await (Number.isFinite(ms) ? clock.sleep(ms) : new Promise(() => undefined));
    return 'answer';
  };
  const buffered = ['first', 'second'];
  const cursor = {
    bufferedCount: () => buffered.length,
    next: async () => buffered.shift() ?? (await command()),
    hasNext: command,
  };
  const methods = {
    findOne: command,
    insertOne: command,
    estimatedDocumentCount: command,
    find: () => cursor,
    aggregate: () => cursor,
  };
  limitRequestWaits({ collection: methods });
  return methods;
}

/** The outcome of a part of the request and its time in ms; null if it has none after a long time. */
async function outcome(part: () => Promise<unknown>): Promise<{ result: unknown; ms: number } | null> {
  let found: { result: unknown; ms: number } | null = null;
  const tell = (result: unknown) => {
    found = { result, ms: clock.now() };
  };
  wait.run(() => void part().then(tell, tell));
  for (let ms = 0; ms < LONG_MS && found === null; ms += 500) await clock.advance(500);
  return found;
}

describe('a request to a database that answers', () => {
  it('of many commands takes the time it needs', async () => {
    const { findOne } = collection(1_000);
    const found = await outcome(async () => {
      for (let count = 0; count < 15; count++) await findOne();
      return 'done';
    });
    expect(found).toEqual({ result: 'done', ms: 15_000 });
  });

  it('reads the documents of a batch without a timer for each', async () => {
    let timers = 0;
    const { find } = collection(1_000);
    await outcome(async () => {
      const cursor = find();
      for (let count = 0; count < 2; count++) {
        const next = cursor.next();
        timers += clock.pendingTimers;
        await next;
      }
    });
    expect(timers).toBe(0);
  });
});

describe('a request to a database that hangs', () => {
  it('fails within nine seconds, with what it does after the first failure', async () => {
    const { findOne, insertOne } = collection(Number.POSITIVE_INFINITY);
    const found = await outcome(async () => {
      await insertOne().catch(() => undefined);
      await insertOne().catch(() => undefined);
      await findOne();
    });
    expect(found?.result).toBeInstanceOf(DatabaseWaitError);
    expect(found?.ms).toBeLessThanOrEqual(MOST_MS);
  });

  it('gives up a command that began before another failed within the same time', async () => {
    const { findOne, insertOne } = collection(Number.POSITIVE_INFINITY);
    const late = async () => {
      await clock.sleep(6_000);
      await insertOne();
    };
    const found = await outcome(() => Promise.allSettled([findOne(), late()]));
    expect(found?.ms).toBeLessThanOrEqual(MOST_MS);
  });

  it.each(['findOne', 'insertOne', 'estimatedDocumentCount'] as const)('gives up %s', async (command) => {
    const found = await outcome(() => collection(Number.POSITIVE_INFINITY)[command]());
    expect(found?.result).toBeInstanceOf(DatabaseWaitError);
  });

  it('gives up the next batch of a cursor', async () => {
    const found = await outcome(async () => {
      const cursor = collection(Number.POSITIVE_INFINITY).find();
      for (;;) await cursor.next();
    });
    expect(found?.result).toBeInstanceOf(DatabaseWaitError);
  });
});

describe('work that nobody waits for', () => {
  it('has the time it needs, even for a command that was sent before the answer', async () => {
    const { findOne } = collection(15_000);
    const found = await outcome(() => {
      const pending = findOne();
      isAnswered = true;
      return pending;
    });
    expect(found?.result).toBe('answer');
  });

  it('has it in a background loop that a request has kicked', async () => {
    const { findOne } = collection(15_000);
    let result: unknown = null;
    const logger = createLogger({ level: 'silent', name: 'test' });
    const loop = createBackgroundLoop('test', logger, async () => {
      result = await findOne().catch((error: unknown) => error);
    });
    await outcome(async () => {
      loop.kick();
      await loop.idle();
    });
    expect(result).toBe('answer');
  });
});
