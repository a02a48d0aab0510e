import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  afterAttempt,
  concernOf,
  freeSlots,
  outcomeOf,
} from '#control-plane/jobs/batch-calls/batch-rules.ts';

const RETRY = { on: ['busy' as const, 'no_answer' as const], max_attempts: 3, delay_seconds: 600 };

describe('the pace of a batch', () => {
  it('never exceeds either limit, and uses the narrower one fully', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.integer({ min: 1, max: 1_000 }),
        fc.nat(600),
        fc.nat(1_200),
        (concurrent, perMinute, calling, lastMinute) => {
          const slots = freeSlots(
            { concurrent_calls: concurrent, calls_per_minute: perMinute },
            { calling, lastMinute },
          );
          expect(slots).toBeGreaterThanOrEqual(0);
          if (slots > 0)
            expect(calling + slots === concurrent || lastMinute + slots === perMinute).toBe(true);
          expect(slots === 0 || (calling + slots <= concurrent && lastMinute + slots <= perMinute)).toBe(
            true,
          );
          if (calling < concurrent && lastMinute < perMinute) expect(slots).toBeGreaterThan(0);
        },
      ),
    );
  });
});

describe('the outcome of a call', () => {
  it('is known once the dial has failed or the conversation has ended', () => {
    expect(outcomeOf({ status: 'pending', dial_status: null })).toBe(null);
    expect(outcomeOf({ status: 'active', dial_status: 'answered' })).toBe(null);
    expect(outcomeOf({ status: 'unknown', dial_status: 'answered' })).toBe(null);
    expect(outcomeOf({ status: 'completed', dial_status: 'answered' })).toBe('completed');
    expect(outcomeOf({ status: 'failed', dial_status: 'busy' })).toBe('busy');
    expect(outcomeOf({ status: 'failed', dial_status: 'no_answer' })).toBe('no_answer');
    expect(outcomeOf({ status: 'failed', dial_status: 'failed' })).toBe('failed');
  });

  it('has a fallback where it cannot be determined, and never blocks a batch', () => {
    expect(outcomeOf({ status: 'failed', dial_status: null })).toBe('no_answer');
    expect(outcomeOf(null)).toBe('failed');
  });
});

describe('a retry', () => {
  it('happens for the configured outcomes, after the delay, up to the maximum attempts', () => {
    const next = (outcome: 'busy' | 'failed' | 'completed', attempts: number, isLast = false) =>
      afterAttempt(RETRY, { outcome, attempts, isLast, atMs: 1_000 });
    expect(next('busy', 1)).toEqual({ state: 'waiting', nextAtMs: 601_000 });
    expect(next('busy', 3).state).toBe('busy');
    expect(next('failed', 1).state).toBe('failed');
    expect(next('completed', 1).state).toBe('completed');
    expect(next('busy', 1, true).state).toBe('busy');
  });

  it('is the last after a finite number, for any sequence of outcomes', () => {
    const outcome = fc.constantFrom(
      'completed' as const,
      'busy' as const,
      'no_answer' as const,
      'failed' as const,
    );
    fc.assert(
      fc.property(
        fc.array(outcome, { minLength: 5, maxLength: 5 }),
        fc.integer({ min: 1, max: 5 }),
        (outcomes, max_attempts) => {
          let calls = 0;
          for (const each of outcomes) {
            calls += 1;
            if (
              afterAttempt(
                { ...RETRY, max_attempts },
                { outcome: each, attempts: calls, isLast: false, atMs: 0 },
              ).state !== 'waiting'
            )
              break;
          }
          expect(calls).toBeLessThanOrEqual(max_attempts);
        },
      ),
    );
  });
});

describe('a refusal', () => {
  it('concerns the row, the moment or the batch', () => {
    expect(concernOf('premium_destination_blocked')).toBe('row');
    expect(concernOf('no_capacity')).toBe('moment');
    expect(concernOf('concurrent_calls_reached')).toBe('moment');
    expect(concernOf('insufficient_credit')).toBe('batch');
    expect(concernOf('number_inactive')).toBe('batch');
  });
});
