/** Sums over measured calls, and their figures with intervals. Plain data of bounded size. */
import {
  addSums,
  clusteredShare,
  type Estimate,
  NO_UNITS,
  type RatioSums,
  ratio,
  rounded,
  withUnit,
} from '#base/intervals.ts';
import type { MeasuredCall, RegretFigures, TurnsUnder } from './regret.ts';
import type { TriedSettings } from './tuning.ts';

/** Turns under one setting, summed over calls; each by turn, with calls as the units. */
export interface SettingSums {
  readonly cutOffs: RatioSums;
  /** Cut-offs and unknown turns. */
  readonly most: RatioSums;
  readonly wait: RatioSums;
  readonly knownWaitMs: number;
}

/** Sums over calls of one version and day. */
export interface RegretSums {
  readonly calls: number;
  readonly leftOut: number;
  readonly pauses: number;
  readonly judged: number;
  readonly own: SettingSums;
  /** By setting (`settingKey`); only of the calls that were judged under it, too. */
  readonly candidates: Readonly<Record<string, SettingSums>>;
}

const NO_TURNS: SettingSums = { cutOffs: NO_UNITS, most: NO_UNITS, wait: NO_UNITS, knownWaitMs: 0 };

/** The sums of no call. */
export const NO_REGRET: RegretSums = {
  calls: 0,
  leftOut: 0,
  pauses: 0,
  judged: 0,
  own: NO_TURNS,
  candidates: {},
};

/** Identifies a setting in sums. */
export function settingKey({ eagerness, response_wait_ms: waitMs }: TriedSettings): string {
  return `${eagerness} ${waitMs}`;
}

/** Adds one call, judged under these candidates. */
export function addMeasured(
  sums: RegretSums,
  call: MeasuredCall,
  candidates: readonly TriedSettings[] = [],
): RegretSums {
  const tried = candidates.flatMap((setting, index) => {
    const turns = call.candidates[index];
    return turns ? [[settingKey(setting), turns] as const] : [];
  });
  return {
    calls: sums.calls + 1,
    leftOut: sums.leftOut,
    pauses: sums.pauses + call.pauses,
    judged: sums.judged + call.judged,
    own: withTurns(sums.own, call.own),
    candidates: {
      ...sums.candidates,
      ...Object.fromEntries(
        tried.map(([key, turns]) => [key, withTurns(sums.candidates[key] ?? NO_TURNS, turns)]),
      ),
    },
  };
}

/** Counts a call that could not be measured. */
export function addLeftOut(sums: RegretSums): RegretSums {
  return { ...sums, leftOut: sums.leftOut + 1 };
}

/** Adds the sums of two groups of calls. */
export function addRegret(a: RegretSums, b: RegretSums): RegretSums {
  const keys = new Set([...Object.keys(a.candidates), ...Object.keys(b.candidates)]);
  return {
    calls: a.calls + b.calls,
    leftOut: a.leftOut + b.leftOut,
    pauses: a.pauses + b.pauses,
    judged: a.judged + b.judged,
    own: addSettings(a.own, b.own),
    candidates: Object.fromEntries(
      [...keys].map((key) => [
        key,
        addSettings(a.candidates[key] ?? NO_TURNS, b.candidates[key] ?? NO_TURNS),
      ]),
    ),
  };
}

/** Adds the sums of one setting over two groups of calls. */
export function addSettings(a: SettingSums, b: SettingSums): SettingSums {
  return {
    cutOffs: addSums(a.cutOffs, b.cutOffs),
    most: addSums(a.most, b.most),
    wait: addSums(a.wait, b.wait),
    knownWaitMs: a.knownWaitMs + b.knownWaitMs,
  };
}

/** The figures of the calls so far. */
export function regretFiguresOf({ calls, leftOut, pauses, judged, own }: RegretSums): RegretFigures {
  const { cutOffs, most, wait } = own;
  const turns = wait.x;
  const share = (some: number, all: number) => (all === 0 ? 0 : some / all);
  return {
    calls,
    left_out: leftOut,
    turns,
    needless_wait_ms: rounded(ratio(wait), 1),
    least_needless_wait_ms: Math.round(share(own.knownWaitMs, turns)),
    cut_offs: rounded(ofHundred(clusteredShare(cutOffs)), 2),
    most_cut_offs: rounded(ofHundred(clusteredShare(most)), 2),
    unknown_share: Number(share(most.y - cutOffs.y, turns).toFixed(4)),
    judged_share: Number(share(judged, pauses).toFixed(4)),
  };
}

function withTurns(sums: SettingSums, { turns, cut_offs, unknown, ...waits }: TurnsUnder): SettingSums {
  return {
    cutOffs: withUnit(sums.cutOffs, cut_offs, turns),
    most: withUnit(sums.most, cut_offs + unknown, turns),
    wait: withUnit(sums.wait, waits.wait_ms, turns),
    knownWaitMs: sums.knownWaitMs + waits.known_wait_ms,
  };
}

function ofHundred({ value, low, high }: Estimate): Estimate {
  return { value: value * 100, low: low && low * 100, high: high && high * 100 };
}
