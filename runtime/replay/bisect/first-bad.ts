/**
 * Searches ordered versions for the change from good to bad that is nearest to the bad end: backwards in
 * growing steps until a version is good, then by halves. Versions that cannot be judged are passed over, as
 * `git bisect skip` does.
 */

/** What became of a version. */
export type Judged = 'good' | 'bad' | 'unjudged';

/** Where the change lies; indexes into the versions. */
export interface FirstBad {
  /** The last good one; null if none was found. */
  readonly good: number | null;
  /** The first that is known to be bad. */
  readonly bad: number;
  /** Those between the two, which cannot be judged: each of them may be the first bad one. */
  readonly between: readonly number[];
}

/**
 * Finds the first bad version of `count`, oldest first; the last is known to be bad. `judge` is asked about
 * each version at most once, and about few of many.
 */
export async function findFirstBad(
  count: number,
  judge: (index: number) => Promise<Judged>,
): Promise<FirstBad> {
  const known = new Map<number, Judged>([[count - 1, 'bad']]);
  const verdictOf = async (index: number): Promise<Judged> => {
    const verdict = known.get(index) ?? (await judge(index));
    known.set(index, verdict);
    return verdict;
  };
  const { good, bad } = await findGood(count - 1, verdictOf);
  if (good === null) return { good, bad, between: [] };
  return halve({ good, bad }, verdictOf);
}

type VerdictOf = (index: number) => Promise<Judged>;

/** Looks backwards for a good version, in steps of 1, 2, 4 …; the oldest is looked at last. */
async function findGood(
  last: number,
  verdictOf: VerdictOf,
): Promise<{ readonly good: number | null; readonly bad: number }> {
  let bad = last;
  let step = 1;
  for (let index = last - 1; index >= 0; ) {
    const verdict = await verdictOf(index);
    if (verdict === 'good') return { good: index, bad };
    if (verdict === 'bad') {
      bad = index;
      step *= 2;
    }
    if (index === 0) break;
    // Beside one that cannot be judged the next one is tried.
    index = Math.max(0, index - (verdict === 'unjudged' ? 1 : step));
  }
  return { good: null, bad };
}

async function halve(
  found: { readonly good: number; readonly bad: number },
  verdictOf: VerdictOf,
): Promise<FirstBad> {
  let { good, bad } = found;
  const unjudged = new Set<number>();
  for (;;) {
    const index = nearestToMiddle(good, bad, unjudged);
    if (index === null) break;
    const verdict = await verdictOf(index);
    if (verdict === 'good') good = index;
    else if (verdict === 'bad') bad = index;
    else unjudged.add(index);
  }
  return { good, bad, between: [...unjudged].filter((one) => one > good && one < bad).sort((a, b) => a - b) };
}

function nearestToMiddle(good: number, bad: number, without: ReadonlySet<number>): number | null {
  const middle = Math.floor((good + bad) / 2);
  for (let off = 0; middle - off > good || middle + off < bad; off += 1)
    for (const index of [middle - off, middle + off])
      if (index > good && index < bad && !without.has(index)) return index;
  return null;
}
