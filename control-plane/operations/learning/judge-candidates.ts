/**
 * Judges the candidates of a learner on logged calls (off-policy). A call counts for a candidate only if its
 * agent waited so much longer that the log shows what the caller did. A turn that stays unknown counts as a
 * caller cut off. From the most patient setting on, each must keep the bound with a confidence of 99 %; the
 * first that does not ends the row, so that trying many settings does not make one of them look good by
 * chance (fixed-sequence testing: W. Maurer, L. Hothorn, W. Lehmacher, 1995).
 */
import { clusteredShare, ratio } from '#base/intervals.ts';
import { addSettings, type RegretSums, type SettingSums, settingKey } from '#protocol/regret-tally.ts';
import {
  candidatesOf,
  EAGERNESS,
  type Eagerness,
  isSameSetting,
  type LearningRules,
  type Setting,
} from './candidates.ts';

/** The 99 % quantile of the normal distribution. */
export const Z_ONE_SIDED = 2.326347874040841;
/** Calls with a larger share of unknown turns say too little about a candidate. */
const MOST_UNKNOWN = 0.05;
const FEWEST_TURNS = 1_000;
const FEWEST_CALLS = 100;
/** With at least this many turns, the last days alone rule out a candidate that breaks the bound in them. */
const LATE_TURNS = 300;

/** Sums of calls that ran one setting. */
export interface Evidence {
  readonly setting: Setting;
  readonly sums: RegretSums;
}

/** Measured calls by the setting that they ran. */
export interface Logged {
  readonly evidence: readonly Evidence[];
  /** Those of the last days alone: callers may have changed. */
  readonly recent: readonly Evidence[];
}

/** A candidate that keeps the bound. */
export interface Certified {
  readonly setting: Setting;
  /** Callers cut off in a hundred turns: as seen, and at most with 99 % confidence. */
  readonly cutOffs: number;
  readonly mostCutOffs: number;
  /** Mean needless wait in a turn, ms. */
  readonly waitMs: number;
  readonly turns: number;
}

/** The result of a look at the evidence. */
export interface Judged {
  /** Of least wait; null if none is certain to keep the bound. */
  readonly best: Certified | null;
  /** Turns that say something about the candidates of each eagerness: of the one with the fewest. */
  readonly turns: number;
}

/** Judges all candidates that were not refused. */
export function judgeCandidates(rules: LearningRules, logged: Logged, refused: readonly Setting[]): Judged {
  const rows = EAGERNESS.filter((one) => rules.eagerness.includes(one)).map((eagerness) =>
    judgeRow(rules, logged, eagerness),
  );
  const certified = rows
    .flatMap((row) => row.certified)
    .filter(({ setting }) => !refused.some((one) => isSameSetting(one, setting)));
  return {
    best: certified.reduce<Certified | null>(
      (best, one) => (!best || one.waitMs < best.waitMs ? one : best),
      null,
    ),
    turns: Math.min(...rows.map(({ turns }) => turns)),
  };
}

/** The candidates of one eagerness, up to the first that does not certainly keep the bound. */
function judgeRow(
  rules: LearningRules,
  { evidence, recent }: Logged,
  eagerness: Eagerness,
): { readonly certified: readonly Certified[]; readonly turns: number } {
  const certified: Certified[] = [];
  let turns = 0;
  for (const setting of candidatesOf(rules).filter((one) => one.eagerness === eagerness)) {
    const sums = shownIn(evidence, setting);
    if (!sums || sums.most.x < FEWEST_TURNS || sums.most.units < FEWEST_CALLS) continue;
    turns = Math.max(turns, sums.most.x);
    const one = certify(rules, setting, sums);
    const late = shownIn(recent, setting);
    const isOutdated =
      late !== null && late.most.x >= LATE_TURNS && 100 * late.most.y > rules.cut_off_bound * late.most.x;
    if (!one || isOutdated) break;
    certified.push(one);
  }
  return { certified, turns };
}

/** Sums over all calls that show the outcome of a setting; null without any. */
function shownIn(evidence: readonly Evidence[], setting: Setting): SettingSums | null {
  const key = settingKey(setting);
  const shown = evidence.flatMap(({ sums }) => {
    const of = sums.candidates[key];
    return of && of.most.y - of.cutOffs.y <= MOST_UNKNOWN * of.most.x ? [of] : [];
  });
  const [first, ...others] = shown;
  if (!first) return null;
  return others.reduce(addSettings, first);
}

function certify(
  { cut_off_bound: bound }: LearningRules,
  setting: Setting,
  { cutOffs, most, wait }: SettingSums,
): Certified | null {
  const mostCutOffs = 100 * (clusteredShare(most, Z_ONE_SIDED).high ?? 1);
  if (mostCutOffs > bound) return null;
  const seen = (100 * cutOffs.y) / cutOffs.x;
  return { setting, cutOffs: seen, mostCutOffs, waitMs: ratio(wait).value, turns: most.x };
}
