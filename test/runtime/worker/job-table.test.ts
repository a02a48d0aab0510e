import { describe, expect, it } from 'vitest';
import { JobTable, JobWithdrawn } from '#runtime/worker/job-table.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';
import { testPlan } from '../test-plan.ts';

const phone = { sessionId: 's1', epoch: 1, kind: 'phone', sipCallId: 'call@peer' } as const;

describe('job table', () => {
  it('a job whose plan never arrives releases its slot, and notifies those waiting', async () => {
    const clock = new ManualClock();
    const jobs = new JobTable(clock);
    const job = jobs.reserve(phone);
    const idle = jobs.idle();
    const waiting = expect(job?.plan).rejects.toThrow(JobWithdrawn);
    await clock.advance(20_000);
    await waiting;
    await idle;
    expect(jobs.size).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  it('a job with a plan does not expire', async () => {
    const clock = new ManualClock();
    const jobs = new JobTable(clock);
    jobs.reserve(phone);
    const plan = testPlan();
    await expect(jobs.assign('s1', 1, plan)?.plan).resolves.toBe(plan);
    await clock.advance(60_000);
    expect(jobs.size).toBe(1);
  });

  it('a job offered twice uses one slot', () => {
    const jobs = new JobTable(new ManualClock());
    expect(jobs.reserve(phone)).not.toBeNull();
    expect(jobs.reserve(phone)).toBeNull();
    expect(jobs.size).toBe(1);
  });

  it('a plan for another epoch finds no job', () => {
    const jobs = new JobTable(new ManualClock());
    jobs.reserve(phone);
    expect(jobs.assign('s1', 2, testPlan())).toBeNull();
  });

  it('each INVITE gets its own job, even if two share a Call-ID', () => {
    const jobs = new JobTable(new ManualClock());
    const first = jobs.reserve(phone);
    const second = jobs.reserve({ ...phone, sessionId: 's2' });
    expect(jobs.takeSipCall('call@peer')).toBe(first);
    expect(jobs.takeSipCall('call@peer')).toBe(second);
    expect(jobs.takeSipCall('call@peer')).toBeNull();
  });
});
