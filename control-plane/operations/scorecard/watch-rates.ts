/** Watches the rates of an agent as its calls are counted: opens and closes alerts. Pure. */
import { type AlertRule, CRITERION_PREFIX, DEFAULT_AT_LEAST_CALLS, LEARNED } from '#config/scorecard.ts';
import type {
  AlertSide,
  LearnedBand,
  ScoreWatchDocument,
  StoredAlert,
  WatchedRate,
} from '../../platform/store/models/scorecard-model.ts';
import { afterLearning } from './learn-band.ts';
import type { CallScore } from './score-call.ts';
import {
  CALLS_PER_FALSE_ALARM,
  CALLS_PER_FALSE_RETURN,
  NO_EVIDENCE,
  strengthOf,
  withCall,
} from './watch-rate.ts';

/** Closed alerts that are kept. */
const MOST_CLOSED = 50;

/** A counted call. */
export interface WatchedCall {
  readonly score: CallScore;
  readonly beganAt: Date;
}

/** The rules that are watched; time and ids of new alerts. */
export interface Watching {
  readonly rules: readonly AlertRule[];
  readonly at: Date;
  readonly newId: () => string;
}

type Rates = Pick<ScoreWatchDocument, 'rates' | 'closed'>;

/** The rates after these calls, and the alerts that were opened or closed on the way, in order. */
export function watchRates(
  before: Rates,
  calls: readonly WatchedCall[],
  { rules, at, newId }: Watching,
): Rates & { readonly changed: StoredAlert[] } {
  const changed: StoredAlert[] = [];
  const isKept = ({ rule }: WatchedRate) => rules.some((other) => isSame(rule, other));
  for (const { open } of before.rates.filter((rate) => !isKept(rate)))
    if (open) changed.push({ ...open, closed_at: at, close_reason: 'changed' });
  const rates = rules.map((rule) => {
    let watched = before.rates.find((rate) => isSame(rate.rule, rule)) ?? newRate(rule);
    for (const call of calls) {
      const isHit = hitOf(rule.rate, call.score);
      if (isHit === null) continue;
      const next = step(watched, { isHit, at: call.beganAt }, { at, newId });
      watched = next.watched;
      if (next.changed) changed.push(next.changed);
    }
    return watched;
  });
  const closed = changed.filter(({ closed_at }) => closed_at !== null).reverse();
  return { rates, closed: [...closed, ...before.closed].slice(0, MOST_CLOSED), changed };
}

function newRate(rule: AlertRule): WatchedRate {
  return { rule, above: NO_EVIDENCE, below: NO_EVIDENCE, open: null };
}

/** The limit on a side: as it is set, or as it was learned; null without one. */
export function limitOf({ rule, learned }: Pick<WatchedRate, 'rule' | 'learned'>, side: AlertSide) {
  const limit = rule[side] ?? null;
  return limit === LEARNED ? (learned?.[side] ?? null) : limit;
}

/** With a band that was learned anew; what spoke against another limit says nothing about the new one. */
export function withBand(before: WatchedRate, learned: LearnedBand): WatchedRate {
  const after = { ...newRate(before.rule), learned };
  const evidenceFor = (side: AlertSide) =>
    limitOf(before, side) === limitOf(after, side) ? before[side] : NO_EVIDENCE;
  return { ...after, above: evidenceFor('above'), below: evidenceFor('below') };
}

/** Whether two rules are the same one, so that the state of a rate holds on. */
export function isSame(a: AlertRule, b: AlertRule): boolean {
  return (
    a.rate === b.rate &&
    a.above === b.above &&
    a.below === b.below &&
    (a.at_least_calls ?? DEFAULT_AT_LEAST_CALLS) === (b.at_least_calls ?? DEFAULT_AT_LEAST_CALLS)
  );
}

/** Whether a call is a hit of the rate; null if the call does not show it. */
function hitOf(rate: string, { tags, criteria }: CallScore): boolean | null {
  if (!rate.startsWith(CRITERION_PREFIX)) return tags.some((tag) => tag === rate);
  const result = criteria.find(({ name }) => CRITERION_PREFIX + name === rate)?.result ?? 'unknown';
  return result === 'unknown' ? null : result === 'failure';
}

interface Stepped {
  readonly watched: WatchedRate;
  readonly changed: StoredAlert | null;
}
type Call = Parameters<typeof withCall>[2];

function step(watched: WatchedRate, call: Call, making: Pick<Watching, 'at' | 'newId'>): Stepped {
  return watched.open ? stepOpen(watched, watched.open, call, making) : stepCalm(watched, call, making);
}

function stepCalm(before: WatchedRate, call: Call, { at, newId }: Pick<Watching, 'at' | 'newId'>): Stepped {
  const after: WatchedRate = {
    ...calm(before),
    above: evidenceOn('above', before, call),
    below: evidenceOn('below', before, call),
  };
  for (const side of ['above', 'below'] as const) {
    const { calls, hits, since } = after[side];
    const limit = limitOf(before, side);
    const isEnough = calls >= (before.rule.at_least_calls ?? DEFAULT_AT_LEAST_CALLS);
    if (limit === null || !isEnough || strengthOf(after[side]) < CALLS_PER_FALSE_ALARM) continue;
    const open: StoredAlert = {
      alert_id: newId(),
      rate: before.rule.rate,
      side,
      limit,
      opened_at: at,
      since: since ?? call.at,
      calls,
      hits,
      closed_at: null,
      close_reason: null,
    };
    return { watched: { ...calm(before), open }, changed: open };
  }
  return { watched: after, changed: null };
}

function evidenceOn(side: AlertSide, before: WatchedRate, call: Call) {
  const limit = limitOf(before, side);
  return limit === null ? NO_EVIDENCE : withCall(before[side], { limit, side }, call);
}

/** Evidence of the return is kept on the other side, against the limit that was passed. */
function stepOpen(before: WatchedRate, open: StoredAlert, call: Call, { at }: Pick<Watching, 'at'>): Stepped {
  const back: AlertSide = open.side === 'above' ? 'below' : 'above';
  const evidence = withCall(before[back], { limit: open.limit, side: back }, call);
  if (strengthOf(evidence) >= CALLS_PER_FALSE_RETURN)
    return { watched: calmAfter(before, at), changed: { ...open, closed_at: at, close_reason: 'returned' } };
  return { watched: { ...calm(before), [back]: evidence, open }, changed: null };
}

/** The rule and its band, without evidence or alert. */
function calm({ rule, learned }: WatchedRate): WatchedRate {
  return { ...newRate(rule), ...(learned ? { learned } : {}) };
}

/** The calls of the alert are not learned from. */
function calmAfter({ rule, learned }: WatchedRate, at: Date): WatchedRate {
  return calm({
    ...newRate(rule),
    ...(learned ? { learned: { ...learned, again_at: afterLearning(at) } } : {}),
  });
}
