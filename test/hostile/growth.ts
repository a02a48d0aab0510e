/**
 * Growth of work with its input: twice the input may take at most 2.6 times the work. Absolute times never
 * decide, so a slow machine fails no test: sizes are doubled up to the longest permitted one, and sizes with
 * too little work to measure are skipped.
 */

/** Upper limit for linear work, including overhead. */
export const MOST_GROWTH = 2.6;
const SMALLEST = 256;
const MEASURABLE_MS = 1;
/** The overhead of such work, requests and their errors, takes about a millisecond. */
const MEASURABLE_IN_TURNS_MS = 5;
const TRIES = 5;
const ROUNDS = 12;
const LEAST_ROUNDS = 2;

/** The largest growth between a size and its double. */
export interface Growth {
  /** 0 if no size was long enough to measure. */
  readonly ratio: number;
  readonly size: number;
  /** Work at the longest size tried, ms. */
  readonly longestMs: number;
}

/** Work to be measured; its input is created outside the measurement. */
export interface Work<Input> {
  readonly make: (size: number) => Input;
  readonly run: (input: Input) => unknown;
  readonly longest: number;
}

/** Measures sizes up to the longest, and stops at the first that grows too fast. */
export function growthOf<Input>({ make, run, longest }: Work<Input>): Growth {
  const [smallest = longest, ...doubles] = sizesUpTo(longest);
  let half = make(smallest);
  let worst: Growth = { ratio: 0, size: 0, longestMs: timed(() => run(half)) };
  for (const size of doubles) {
    const whole = make(size);
    const { ratio, wholeMs } = compared(
      () => run(half),
      () => run(whole),
    );
    worst = ratio > worst.ratio ? { ratio, size, longestMs: wholeMs } : { ...worst, longestMs: wholeMs };
    if (ratio > MOST_GROWTH) return worst;
    half = whole;
  }
  return worst;
}

/**
 * Growth from half the longest size to the full size, for work that yields to other work; 0 if there is too
 * little of it. The fastest of several runs counts, because other programs also use the processor.
 */
export async function growthInTurns<Input>({ make, run, longest }: Work<Input>): Promise<number> {
  const [half, whole] = [make(Math.floor(longest / 2)), make(longest)];
  let [twiceMs, wholeMs] = [Number.POSITIVE_INFINITY, await timedInTurns(() => run(whole))];
  for (let round = 0; round < ROUNDS; round++) {
    if (wholeMs < MEASURABLE_IN_TURNS_MS) return 0;
    twiceMs = Math.min(
      twiceMs,
      (await timedInTurns(() => run(half))) + (await timedInTurns(() => run(half))),
    );
    wholeMs = Math.min(wholeMs, await timedInTurns(() => run(whole)));
    if (round >= LEAST_ROUNDS && (2 * wholeMs) / twiceMs <= MOST_GROWTH) break;
  }
  return (2 * wholeMs) / twiceMs;
}

/**
 * Repeats one token up to the requested length. The text ends with a whole token: its end decides which rules
 * examine it, so half and full length would otherwise not be comparable.
 */
export function repeated(token: string, size: number): string {
  return token.repeat(Math.ceil(size / token.length)).slice(-size);
}

/** Doubling sizes; the last is the longest or slightly less. */
function sizesUpTo(longest: number): number[] {
  const smallest = Math.floor(longest / 2 ** Math.max(0, Math.floor(Math.log2(longest / SMALLEST))));
  const sizes: number[] = [];
  for (let size = smallest; size <= longest; size *= 2) sizes.push(size);
  return sizes;
}

/**
 * Repeats the measurement while the growth looks too fast, because another program or the garbage collector
 * may have used the processor. Linear work passes in one of the rounds; work that grows too fast never does.
 */
function compared(half: () => unknown, whole: () => unknown): { ratio: number; wholeMs: number } {
  let wholeMs = timed(whole);
  let ratio = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && ratio > MOST_GROWTH; round++) {
    const next = quickest(half, whole);
    wholeMs = Math.min(wholeMs, next.wholeMs);
    if (wholeMs < MEASURABLE_MS) return { ratio: 0, wholeMs };
    ratio = Math.min(ratio, (2 * next.wholeMs) / next.twiceMs);
  }
  return { ratio, wholeMs };
}

/**
 * The fastest of several alternating runs. The half runs twice, so that both leave the same amount of
 * garbage.
 */
function quickest(half: () => unknown, whole: () => unknown): { twiceMs: number; wholeMs: number } {
  let [twiceMs, wholeMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let tries = 0; tries < TRIES; tries++) {
    twiceMs = Math.min(
      twiceMs,
      timed(() => [half(), half()]),
    );
    wholeMs = Math.min(wholeMs, timed(whole));
    if ((2 * wholeMs) / twiceMs <= MOST_GROWTH) break;
  }
  return { twiceMs, wholeMs };
}

function timed(work: () => unknown): number {
  const started = performance.now();
  work();
  return performance.now() - started;
}

async function timedInTurns(work: () => unknown): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}
