import { beforeEach, describe, expect, it } from 'vitest';
import type { WorkerMessage } from '#protocol/worker-link.ts';
import { startHandOver } from '#runtime/worker/hand-over.ts';
import { type Job, JobTable } from '#runtime/worker/job-table.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

const clock = new ManualClock();
let sent: WorkerMessage[];
let isStored: boolean;
let isConnected: boolean;
let job: Job;

beforeEach(() => {
  sent = [];
  isStored = true;
  isConnected = true;
  const jobs = new JobTable(clock);
  job = jobs.reserve({ sessionId: 's', epoch: 3, kind: 'phone', sipCallId: null }) as Job;
  Object.assign(job, { move: 'unnoticed', variables: () => ({ guest: 'Ann' }) });
  jobs.keep('s', 3);
  const client = {
    get isConnected() {
      return isConnected;
    },
    send: (message: WorkerMessage) => void sent.push(message),
    isStored: () => isStored,
  };
  const timer = startHandOver({ clock, client, jobs, drainMs: 60_000 });
  return () => timer.cancel();
});

describe('a draining worker', () => {
  it('offers a call with its variables', async () => {
    await clock.advance(100);
    const call = { session_id: 's', epoch: 3, variables: { guest: 'Ann' } };
    expect(sent).toEqual([{ type: 'hand_over', ...call, confirms_leaving: true }]);
  });

  it('offers a call only between two turns, and once all of its reports are stored', async () => {
    job.move = 'noticed';
    await clock.advance(1_000);
    job.move = 'unnoticed';
    isStored = false;
    await clock.advance(1_000);
    expect(sent).toEqual([]);
    isStored = true;
    await clock.advance(100);
    expect(sent).toHaveLength(1);
  });

  it('offers no call that is ending, nor any while its link is lost', async () => {
    isConnected = false;
    await clock.advance(10_000);
    isConnected = true;
    job.move = 'never';
    await clock.advance(49_000);
    expect(sent).toEqual([]);
  });

  it('offers a call that was refused before again, shortly before the drain ends', async () => {
    await clock.advance(54_900);
    const before = sent.length;
    job.move = 'noticed';
    await clock.advance(300);
    expect(sent.slice(before)).toMatchObject([{ is_mid_turn: true }]);
  });

  it('offers a call that has no pause shortly before the drain ends', async () => {
    job.move = 'noticed';
    await clock.advance(54_000);
    expect(sent).toEqual([]);
    await clock.advance(1_500);
    expect(sent).toMatchObject([{ type: 'hand_over', is_mid_turn: true }]);
  });

  it('offers a call that nobody has taken again, less and less often, until somebody has', async () => {
    const counts: number[] = [];
    for (let second = 0; second < 16; second++) {
      await clock.advance(1_000);
      counts.push(sent.length);
    }
    expect(counts).toEqual([1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5]);
    job.isTaken = true;
    await clock.advance(60_000);
    expect(sent).toHaveLength(5);
  });
});
