/** The rules of alerts in the draft: what can be watched, and what is wrong with a rule. Pure. */
import type { AgentConfig, Scorecard } from '../api/types.ts';
import { CRITERION, labelOf } from './scorecard-rates.ts';

export type AlertRule = NonNullable<NonNullable<AgentConfig['scorecard']>['alerts']>[number];
export type Side = 'above' | 'below';

export const LEARNED = 'learned';
const TAGS: readonly Scorecard['totals']['tags'][number]['tag'][] = [
  'dead_air',
  'talked_over',
  'loop',
  'caller_repeated',
  'slow_tool',
  'wrong_language',
  'unheard',
  'anger_words',
];
const LEAST_CALLS = 10;
const MOST_CALLS = 100_000;

/** What is wrong with the fields of a rule, by field; absent where nothing is. */
export interface RuleErrors {
  readonly rate?: string;
  readonly above?: string;
  readonly below?: string;
  readonly at_least_calls?: string;
}

/** The rates that this draft can have watched, and those that its rules name. */
export function watchableRates({ analysis, scorecard }: AgentConfig): { value: string; label: string }[] {
  const criteria = analysis.criteria.filter(({ name }) => name !== '').map(({ name }) => CRITERION + name);
  const named = (scorecard?.alerts ?? []).map(({ rate }) => rate);
  return [...new Set([...TAGS, ...criteria, ...named])].map((value) => ({ value, label: labelOf(value) }));
}

/** What the API would refuse in each rule, and rates that no call would have. */
export function errorsOf(config: AgentConfig): RuleErrors[] {
  return (config.scorecard?.alerts ?? []).map((rule, index) => ({
    ...rateError(config, rule, index),
    ...limitErrors(rule),
    ...callsError(rule),
  }));
}

function rateError({ analysis, scorecard }: AgentConfig, { rate }: AlertRule, index: number): RuleErrors {
  const first = scorecard?.alerts?.findIndex((other) => other.rate === rate);
  if (first !== index) return { rate: 'This rate is listed twice' };
  const isKnown =
    !rate.startsWith(CRITERION) || analysis.criteria.some(({ name }) => CRITERION + name === rate);
  return isKnown ? {} : { rate: 'The draft has no such criterion' };
}

function limitErrors({ above, below }: AlertRule): RuleErrors {
  if (above === undefined && below === undefined) return { above: 'Set a limit' };
  if (typeof above === 'number' && typeof below === 'number' && above <= below)
    return { below: 'Must be less than the other limit' };
  return { ...limitError('above', above), ...limitError('below', below) };
}

function limitError(side: Side, limit: AlertRule[Side]): RuleErrors {
  const isWrong = typeof limit === 'number' && !(limit > 0 && limit < 1);
  return isWrong ? { [side]: 'Must be more than 0 and less than 100' } : {};
}

function callsError({ at_least_calls: calls = LEAST_CALLS }: AlertRule): RuleErrors {
  if (Number.isInteger(calls) && calls >= LEAST_CALLS && calls <= MOST_CALLS) return {};
  return { at_least_calls: `Must be ${LEAST_CALLS} to ${MOST_CALLS.toLocaleString('en-US')}` };
}

/** The rule with another limit on a side; undefined removes it. */
export function withLimit(rule: AlertRule, side: Side, limit: AlertRule[Side]): AlertRule {
  const { [side]: _, ...others } = rule;
  return limit === undefined ? others : { ...others, [side]: limit };
}
