import { describe, expect, it } from 'vitest';
import type { SessionHead } from '#control-plane/platform/store/models/session-model.ts';
import { ReportedSessions } from '#control-plane/platform/store/reported-sessions.ts';
import type { ReportEnvelope } from '#protocol/worker-link.ts';

/** As many as one control plane has to carry. */
const CALLS = 2_000;

function stored(index: number): SessionHead {
  return { _id: `session-${index}`, epoch: 1, last_seq: 7 } as SessionHead;
}

function report(index: number, seq: number, epoch = 1): ReportEnvelope {
  const joined = { type: 'joined', at: '2026-11-24T12:00:00.000Z' } as const;
  return { session_id: `session-${index}`, epoch, seq, report: joined };
}

describe('the cache of sessions that report', () => {
  it('has the session of each of 2,000 calls that report in turn', () => {
    const cache = new ReportedSessions();
    for (let index = 0; index < CALLS; index++) cache.keep(stored(index));
    const found = Array.from({ length: CALLS }, (_, index) => cache.take(report(index, 8)));
    expect(found.filter((session) => session !== null)).toHaveLength(CALLS);
  });

  it('has a session as it was last changed, but none that it did not have before', () => {
    const cache = new ReportedSessions();
    cache.keep(stored(1));
    cache.refresh({ ...stored(1), status: 'failed' });
    cache.refresh(stored(2));
    expect(cache.take(report(1, 8))).toMatchObject({ status: 'failed' });
    expect(cache.take(report(2, 8))).toBeNull();
  });

  it('forgets those that have not reported for longest once there are too many', () => {
    const cache = new ReportedSessions();
    for (let index = 0; index < 5 * CALLS; index++) cache.keep(stored(index));
    expect(cache.take(report(0, 8))).toBeNull();
    expect(cache.take(report(5 * CALLS - 1, 8))).not.toBeNull();
  });

  it('has no session for a report of another epoch, nor for one that is not the next', () => {
    const cache = new ReportedSessions();
    cache.keep(stored(1));
    expect(cache.take(report(1, 8, 2))).toBeNull();
    cache.keep(stored(1));
    expect(cache.take(report(1, 9))).toBeNull();
  });
});
