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

  it.each([
    ['before the INVITE', ['assign', 'takeSipCall']],
    ['after it', ['takeSipCall', 'assign']],
  ] as const)('an inbound call whose plan arrives %s does not expire', async (_when, order) => {
    const clock = new ManualClock();
    const jobs = new JobTable(clock);
    const job = jobs.reserve(phone);
    const plan = testPlan();
    for (const step of order) {
      if (step === 'assign') jobs.assign('s1', 1, plan);
      else jobs.takeSipCall('call@peer');
    }
    await expect(job?.plan).resolves.toBe(plan);
    await clock.advance(60_000);
    expect(jobs.size).toBe(1);
  });

  it('a call that waits for no INVITE does not expire once its plan has arrived', async () => {
    const clock = new ManualClock();
    const jobs = new JobTable(clock);
    jobs.reserve({ ...phone, sipCallId: null });
    jobs.assign('s1', 1, testPlan());
    await clock.advance(60_000);
    expect(jobs.size).toBe(1);
  });

  it('an inbound call whose INVITE never arrives releases its slot, though its plan has arrived', async () => {
    const clock = new ManualClock();
    const jobs = new JobTable(clock);
    jobs.reserve(phone);
    jobs.assign('s1', 1, testPlan());
    await clock.advance(20_000);
    expect(jobs.size).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  it('a job offered twice uses one slot', () => {
    const jobs = new JobTable(new ManualClock());
    expect(jobs.reserve(phone)).not.toBeNull();
    expect(jobs.reserve(phone)).toBeNull();
    expect(jobs.size).toBe(1);
  });

  it('a withdrawn offer releases its slot, and a plan that comes all the same takes one again', async () => {
    const jobs = new JobTable(new ManualClock());
    const web = { sessionId: 's1', epoch: 1, kind: 'web', sipCallId: null } as const;
    jobs.reserve(web);
    jobs.withdraw('s1', 1);
    expect(jobs.size).toBe(0);
    const plan = testPlan();
    const job = jobs.assign('s1', 1, plan);
    expect(job).toMatchObject({ ...web, call: null });
    await expect(job?.plan).resolves.toBe(plan);
    expect(jobs.size).toBe(1);
  });

  it('a plan that comes long after the withdrawal finds no job', async () => {
    const clock = new ManualClock();
    const jobs = new JobTable(clock);
    jobs.reserve(phone);
    jobs.withdraw('s1', 1);
    await clock.advance(21_000);
    expect(jobs.assign('s1', 1, testPlan())).toBeNull();
  });

  it('a plan finds no job that has ended after its offer was withdrawn', () => {
    const jobs = new JobTable(new ManualClock());
    jobs.reserve(phone);
    jobs.withdraw('s1', 1);
    jobs.remove('s1', 1);
    expect(jobs.assign('s1', 1, testPlan())).toBeNull();
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
