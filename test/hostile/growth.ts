/**
 * How work grows with its input: twice the input may be at most 2.6 times the work. The clock never decides
 * by itself, so a slow machine fails nothing: sizes are doubled up to the longest permitted one, and those
 * whose work is too small to be measured are passed over.
 */

/** What linear work with everything around it stays below. */
export const MOST_GROWTH = 2.6;
const SMALLEST = 256;
const MEASURABLE_MS = 1;
/** What stands around such work, requests and their errors, takes about a millisecond itself. */
const MEASURABLE_IN_TURNS_MS = 5;
const TRIES = 5;
const ROUNDS = 12;
const LEAST_ROUNDS = 2;

/** The worst growth between a size and its double. */
export interface Growth {
  /** 0 when no size was long enough to be measured. */
  readonly ratio: number;
  readonly size: number;
  /** Work at the longest size that was tried, ms. */
  readonly longestMs: number;
}

/** Something whose work is measured: what it is given is made outside the measurement. */
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
 * The growth from half the longest size to all of it, of work that is done in turns with everything else; 0
 * where there is too little of it. The quickest of several times counts, as others use the processor as well.
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
 * A text of one token over and over, as long as it is asked for. It ends with a whole one: the end decides
 * which rules look at a text, so that half and whole would not be compared by the same work.
 */
export function repeated(token: string, size: number): string {
  return token.repeat(Math.ceil(size / token.length)).slice(-size);
}

/** Doubles, the last of them the longest or a few less. */
function sizesUpTo(longest: number): number[] {
  const smallest = Math.floor(longest / 2 ** Math.max(0, Math.floor(Math.log2(longest / SMALLEST))));
  const sizes: number[] = [];
  for (let size = smallest; size <= longest; size *= 2) sizes.push(size);
  return sizes;
}

/**
 * Measured again and again while it looks too fast: another program, or the collector, may have had the
 * processor all the while. Fast work looks fast once in so many rounds; work that grows too fast never does.
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

/** The quickest of several tries, in turns. The half is done twice, so that both leave as much to collect. */
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
