/** The editor of alerts: what it offers, and what it says about a rule that the API would refuse. */
import { describe, expect, it } from 'vitest';
import { CALL_TAGS, scorecardSection } from '#config/scorecard.ts';
import {
  type AlertRule,
  errorsOf,
  watchableRates,
  withLimit,
} from '../../web/console/src/agents/alert-rules.ts';
import type { AgentConfig } from '../../web/console/src/api/types.ts';

/** A draft with the criterion `booked` and these rules. */
function draft(...alerts: AlertRule[]): AgentConfig {
  const analysis = { criteria: [{ name: 'booked', description: 'A table was booked' }] };
  return { analysis, scorecard: { alerts } } as unknown as AgentConfig;
}

describe('the rates that can be watched', () => {
  it('are the tags, the criteria of the draft, and those that its rules name', () => {
    const rates = watchableRates(draft({ rate: 'criterion:gone', above: 0.1 }));
    expect(rates.map(({ value }) => value)).toEqual([...CALL_TAGS, 'criterion:booked', 'criterion:gone']);
    expect(rates.at(-2)?.label).toBe('Booked failed');
  });
});

describe('a rule of an alert', () => {
  it.each<[string, AlertRule, object]>([
    ['needs a limit', { rate: 'loop' }, { above: 'Set a limit' }],
    [
      'needs a limit below 100 %',
      { rate: 'loop', above: 1 },
      { above: 'Must be more than 0 and less than 100' },
    ],
    ['needs a limit above 0', { rate: 'loop', below: 0 }, { below: 'Must be more than 0 and less than 100' }],
    [
      'needs a band that is not empty',
      { rate: 'loop', above: 0.1, below: 0.2 },
      { below: 'Must be less than the other limit' },
    ],
    [
      'needs enough calls',
      { rate: 'loop', above: 0.1, at_least_calls: 9 },
      { at_least_calls: 'Must be 10 to 100,000' },
    ],
  ])('%s, as the API says too', (_title, rule, errors) => {
    expect(errorsOf(draft(rule))).toEqual([errors]);
    expect(scorecardSection.safeParse({ alerts: [rule] }).success).toBe(false);
  });

  it('may not be about a rate that another one is about', () => {
    const rules: AlertRule[] = [
      { rate: 'loop', above: 0.1 },
      { rate: 'loop', below: 0.1 },
    ];
    expect(errorsOf(draft(...rules))).toEqual([{}, { rate: 'This rate is listed twice' }]);
    expect(scorecardSection.safeParse({ alerts: rules }).success).toBe(false);
  });

  it('should be about a criterion that the draft has', () => {
    expect(errorsOf(draft({ rate: 'criterion:gone', above: 0.1 }))).toEqual([
      { rate: 'The draft has no such criterion' },
    ]);
  });

  it('is right with limits that are set, learned, or both', () => {
    const rules: AlertRule[] = [
      { rate: 'loop', above: 0.2, below: 0.1 },
      { rate: 'unheard', above: 'learned' },
      { rate: 'criterion:booked', above: 0.3, below: 'learned', at_least_calls: 50 },
    ];
    expect(errorsOf(draft(...rules))).toEqual([{}, {}, {}]);
    expect(scorecardSection.safeParse({ alerts: rules }).success).toBe(true);
  });

  it('loses a limit that is taken away', () => {
    expect(withLimit({ rate: 'loop', above: 0.1, below: 'learned' }, 'above', undefined)).toEqual({
      rate: 'loop',
      below: 'learned',
    });
  });
});
