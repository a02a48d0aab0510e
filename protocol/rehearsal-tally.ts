/**
 * Sums over rehearsed calls, from which the result of a rehearsal is made at any time. Plain data of bounded
 * size, however many calls there are: it can be stored between two groups of calls.
 */
import {
  clusteredShare,
  NO_UNITS,
  type RatioSums,
  ratio,
  rounded,
  wilson,
  withUnit,
} from '#base/intervals.ts';
import {
  type ACTIONS,
  type CallToListen,
  DIFFERENCES,
  type DifferenceKind,
  type GroupFigures,
  type RehearsalResult,
  type RunOutcome,
} from './rehearsal.ts';

type Action = (typeof ACTIONS)[number];

/** Sums over one group of calls. */
interface GroupSums {
  readonly calls: number;
  readonly differing: number;
  readonly kinds: Readonly<Partial<Record<DifferenceKind, number>>>;
  readonly judgedShares: number;
  readonly pauses: number;
  readonly cutOffs: number;
  readonly wouldCutOff: number;
  readonly unknown: number;
  /** By judged pause. */
  readonly caused: RatioSums;
  readonly spared: RatioSums;
  /** By turn taken, and by call; ms. */
  readonly savedByTurn: RatioSums;
  readonly savedByCall: RatioSums;
  readonly actions: Readonly<Record<Action, { readonly was: number; readonly change: RatioSums }>>;
}

/** A call that may be worth listening to; `weight` orders those of one reason. */
interface Candidate {
  readonly session_id: string;
  readonly why: CallToListen['why'];
  readonly atMs: number;
  readonly startedMs: number | null;
  readonly weight: number;
}

/** All sums of a rehearsal. */
export interface RehearsalTally {
  readonly all: GroupSums;
  readonly hours: Readonly<Record<string, GroupSums>>;
  readonly languages: Readonly<Record<string, GroupSums>>;
  readonly numbers: Readonly<Record<string, GroupSums>>;
  readonly candidates: readonly Candidate[];
}

/** What else is known about a call. */
export interface CallFacts {
  /** Hour of the day at which it began, 0 to 23, in the agent's time zone. */
  readonly hour: number;
  /** The agent's number; null for a call from a web page. */
  readonly number: string | null;
  /** Start of the call, Unix ms; null if it is unknown. */
  readonly startedMs: number | null;
}

const WEB = 'web';
/** Groups of a kind; calls of further numbers are counted together. */
const MOST_GROUPS = 60;
const OTHERS = 'others';
/** Calls to listen to, and candidates that are kept for each reason. */
const TO_LISTEN = 10;
/** Of them at most so many new cut-offs, while there are other differences. */
const MOST_CUT_OFFS = 4;

const NO_ACTION = { was: 0, change: NO_UNITS };
const NO_CALLS: GroupSums = {
  calls: 0,
  differing: 0,
  kinds: {},
  judgedShares: 0,
  pauses: 0,
  cutOffs: 0,
  wouldCutOff: 0,
  unknown: 0,
  caused: NO_UNITS,
  spared: NO_UNITS,
  savedByTurn: NO_UNITS,
  savedByCall: NO_UNITS,
  actions: { hold_lines: NO_ACTION, interruptions: NO_ACTION, keys: NO_ACTION, transfers: NO_ACTION },
};

/** The sums of no call. */
export const NO_REHEARSED_CALLS: RehearsalTally = {
  all: NO_CALLS,
  hours: {},
  languages: {},
  numbers: {},
  candidates: [],
};

/** Adds one call. */
export function addCall(tally: RehearsalTally, call: RunOutcome, facts: CallFacts): RehearsalTally {
  const hour = String(facts.hour).padStart(2, '0');
  return {
    all: added(tally.all, call),
    hours: addedTo(tally.hours, hour, call),
    languages: addedTo(tally.languages, call.language, call),
    numbers: addedTo(tally.numbers, facts.number ?? WEB, call),
    candidates: withCandidates(tally.candidates, call, facts),
  };
}

/** The figures of the calls so far. */
export function resultOf(tally: RehearsalTally): RehearsalResult {
  return {
    all: figuresOf(tally.all),
    by_hour: groupsOf(tally.hours),
    by_language: groupsOf(tally.languages),
    by_number: groupsOf(tally.numbers),
    to_listen: toListen(tally.candidates),
  };
}

function addedTo(
  groups: Readonly<Record<string, GroupSums>>,
  name: string,
  call: RunOutcome,
): Readonly<Record<string, GroupSums>> {
  const isKnown = Object.hasOwn(groups, name);
  const own = isKnown || Object.keys(groups).length < MOST_GROUPS ? name : OTHERS;
  const before = Object.hasOwn(groups, own) ? groups[own] : undefined;
  return { ...groups, [own]: added(before ?? NO_CALLS, call) };
}

function added(sums: GroupSums, call: RunOutcome): GroupSums {
  const { difference, judged, pauses } = call;
  const kind = difference?.kind;
  const action = (name: Action) => ({
    was: sums.actions[name].was + call.was[name],
    change: withUnit(sums.actions[name].change, call.would_be[name] - call.was[name], 1),
  });
  return {
    calls: sums.calls + 1,
    differing: sums.differing + (kind === undefined ? 0 : 1),
    kinds: kind === undefined ? sums.kinds : { ...sums.kinds, [kind]: (sums.kinds[kind] ?? 0) + 1 },
    judgedShares: sums.judgedShares + judged,
    pauses: sums.pauses + pauses.all,
    cutOffs: sums.cutOffs + pauses.cut_off,
    wouldCutOff: sums.wouldCutOff + pauses.would_cut_off,
    unknown: sums.unknown + pauses.unknown,
    caused: withUnit(sums.caused, pauses.caused, pauses.judged),
    spared: withUnit(sums.spared, pauses.spared, pauses.judged),
    savedByTurn: withUnit(sums.savedByTurn, pauses.saved_ms, pauses.taken),
    savedByCall: withUnit(sums.savedByCall, pauses.saved_ms, 1),
    actions: {
      hold_lines: action('hold_lines'),
      interruptions: action('interruptions'),
      keys: action('keys'),
      transfers: action('transfers'),
    },
  };
}

function figuresOf(sums: GroupSums): GroupFigures {
  const { calls, differing, caused, spared, savedByTurn, savedByCall } = sums;
  const action = (name: Action) => {
    const { was, change } = sums.actions[name];
    return { was, would_be: was + change.y, change: rounded(ratio(change)) };
  };
  return {
    calls,
    differing,
    differing_share: rounded(wilson(differing, calls)),
    first_differences: Object.fromEntries(DIFFERENCES.map((kind) => [kind, sums.kinds[kind] ?? 0])) as Record<
      DifferenceKind,
      number
    >,
    judged_share: calls === 0 ? 0 : sums.judgedShares / calls,
    pauses: sums.pauses,
    judged_pauses: caused.x,
    cut_offs: {
      was: sums.cutOffs,
      would_be: sums.wouldCutOff,
      caused: caused.y,
      spared: spared.y,
      unknown: sums.unknown,
      caused_share: rounded(clusteredShare(caused)),
      spared_share: rounded(clusteredShare(spared)),
    },
    waiting: {
      saved_total_ms: Math.round(savedByTurn.y),
      saved_ms_per_turn: rounded(ratio(savedByTurn), 1),
      saved_ms_per_call: rounded(ratio(savedByCall), 1),
    },
    hold_lines: action('hold_lines'),
    interruptions: action('interruptions'),
    keys: action('keys'),
    transfers: action('transfers'),
  };
}

function groupsOf(groups: Readonly<Record<string, GroupSums>>): RehearsalResult['by_hour'] {
  return Object.entries(groups)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, sums]) => ({ name, ...figuresOf(sums) }));
}

function withCandidates(
  candidates: readonly Candidate[],
  { session_id, difference, judged, pauses }: RunOutcome,
  { startedMs }: CallFacts,
): readonly Candidate[] {
  const found: Candidate[] = [];
  const of = { session_id, startedMs };
  const atMs = pauses.first_caused_at_ms;
  if (atMs !== null) found.push({ ...of, why: 'cut_off', atMs, weight: pauses.caused });
  if (difference) {
    const { kind, was, would_be: wouldBe } = difference;
    const partsMs = Math.min(was?.at_ms ?? Infinity, wouldBe?.at_ms ?? Infinity);
    // The longer the part that is the same, the more of the call is known.
    found.push({ ...of, why: kind, atMs: partsMs, weight: judged });
  }
  return found.reduce(kept, candidates);
}

/** Keeps the heaviest of each reason. */
function kept(candidates: readonly Candidate[], one: Candidate): readonly Candidate[] {
  const alike = candidates.filter(({ why }) => why === one.why);
  if (alike.length < TO_LISTEN) return [...candidates, one];
  const lightest = alike.reduce((least, other) => (other.weight < least.weight ? other : least));
  return lightest.weight >= one.weight
    ? candidates
    : [...candidates.filter((other) => other !== lightest), one];
}

/** New cut-offs first, the worst of all; then one of each kind of difference in turn. */
function toListen(candidates: readonly Candidate[]): CallToListen[] {
  const heaviest = (why: Candidate['why']) =>
    candidates.filter((one) => one.why === why).sort((a, b) => b.weight - a.weight);
  const cutOffs = heaviest('cut_off');
  const kinds = DIFFERENCES.map(heaviest);
  const chosen = new Map<string, Candidate>();
  const choose = (one: Candidate | undefined) => {
    if (one && chosen.size < TO_LISTEN && !chosen.has(one.session_id)) chosen.set(one.session_id, one);
  };
  cutOffs.slice(0, MOST_CUT_OFFS).forEach(choose);
  for (let round = 0; round < TO_LISTEN; round += 1) for (const kind of kinds) choose(kind[round]);
  cutOffs.forEach(choose);
  return [...chosen.values()].map(({ session_id, why, atMs, startedMs }) => ({
    session_id,
    why,
    at: new Date(atMs).toISOString(),
    second: startedMs === null ? null : Math.max(0, Math.round((atMs - startedMs) / 100) / 10),
  }));
}
