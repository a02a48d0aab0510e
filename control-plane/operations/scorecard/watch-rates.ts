/** Watches the rates of an agent as its calls are counted: opens and closes alerts. Pure. */
import { type AlertRule, CRITERION_PREFIX, DEFAULT_AT_LEAST_CALLS } from '#config/scorecard.ts';
import type {
  AlertSide,
  ScoreWatchDocument,
  StoredAlert,
  WatchedRate,
} from '../../platform/store/models/scorecard-model.ts';
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
  readonly endedAt: Date;
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
      const next = step(watched, { isHit, at: call.endedAt }, { at, newId });
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

function isSame(a: AlertRule, b: AlertRule): boolean {
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

function stepCalm(
  { rule, ...before }: WatchedRate,
  call: Call,
  { at, newId }: Pick<Watching, 'at' | 'newId'>,
): Stepped {
  const after: WatchedRate = {
    rule,
    open: null,
    above:
      rule.above === undefined
        ? NO_EVIDENCE
        : withCall(before.above, { limit: rule.above, side: 'above' }, call),
    below:
      rule.below === undefined
        ? NO_EVIDENCE
        : withCall(before.below, { limit: rule.below, side: 'below' }, call),
  };
  for (const side of ['above', 'below'] as const) {
    const { calls, hits, since } = after[side];
    const limit = rule[side];
    const isEnough = calls >= (rule.at_least_calls ?? DEFAULT_AT_LEAST_CALLS);
    if (limit === undefined || !isEnough || strengthOf(after[side]) < CALLS_PER_FALSE_ALARM) continue;
    const open: StoredAlert = {
      alert_id: newId(),
      rate: rule.rate,
      side,
      limit,
      opened_at: at,
      since: since ?? call.at,
      calls,
      hits,
      closed_at: null,
      close_reason: null,
    };
    return { watched: { rule, above: NO_EVIDENCE, below: NO_EVIDENCE, open }, changed: open };
  }
  return { watched: after, changed: null };
}

/** Evidence of the return is kept on the other side, against the limit that was passed. */
function stepOpen(
  { rule, ...before }: WatchedRate,
  open: StoredAlert,
  call: Call,
  { at }: Pick<Watching, 'at'>,
): Stepped {
  const back: AlertSide = open.side === 'above' ? 'below' : 'above';
  const evidence = withCall(before[back], { limit: open.limit, side: back }, call);
  if (strengthOf(evidence) >= CALLS_PER_FALSE_RETURN)
    return {
      watched: newRate(rule),
      changed: { ...open, closed_at: at, close_reason: 'returned' },
    };
  return { watched: { rule, above: NO_EVIDENCE, below: NO_EVIDENCE, [back]: evidence, open }, changed: null };
}
