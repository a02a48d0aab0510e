import { beforeEach, describe, expect, it } from 'vitest';
import type { Timer } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import type { WorkerMessage } from '#protocol/worker-link.ts';
import { startHandOver } from '#runtime/worker/hand-over.ts';
import { type Job, JobTable } from '#runtime/worker/job-table.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

const clock = new ManualClock();
let sent: WorkerMessage[];
let logged: string[];
let isStored: boolean;
let isConnected: boolean;
let jobs: JobTable;
let job: Job;
let timer: Timer;
const logger = createLogger(
  { level: 'warn', name: 'test' },
  { write: (line) => void logged.push((JSON.parse(line) as { msg: string }).msg) },
);

function reserve(sessionId: string, kind: Job['kind']): Job {
  const reserved = jobs.reserve({ sessionId, epoch: 3, kind, sipCallId: null }) as Job;
  Object.assign(reserved, { move: 'unnoticed', variables: () => ({ guest: 'Ann' }) });
  jobs.keep(sessionId, 3);
  return reserved;
}

beforeEach(() => {
  sent = [];
  logged = [];
  isStored = true;
  isConnected = true;
  jobs = new JobTable(clock);
  job = reserve('s', 'phone');
  drain(60_000);
  return () => timer.cancel();
});

function drain(drainMs: number): void {
  const client = {
    get isConnected() {
      return isConnected;
    },
    send: (message: WorkerMessage) => void sent.push(message),
    isStored: () => isStored,
  };
  timer = startHandOver({ clock, logger, client, jobs, drainMs });
}

/** How many calls are offered in each of these stretches of time; another worker takes them at once. */
async function offeredEach(ms: number, times: number): Promise<number[]> {
  const counts: number[] = [];
  while (counts.length < times) {
    sent = [];
    await clock.advance(ms);
    counts.push(sent.length);
    for (const message of sent)
      if (message.type === 'hand_over') jobs.remove(message.session_id, message.epoch);
  }
  return counts;
}

const offered = () => sent.map((message) => 'session_id' in message && message.session_id);

describe('a draining worker', () => {
  it('offers a call with its variables', async () => {
    await clock.advance(100);
    const call = { session_id: 's', epoch: 3, variables: { guest: 'Ann' } };
    expect(sent).toEqual([{ type: 'hand_over', ...call, confirms_leaving: true, gives_stream: true }]);
  });

  it('offers the next call once the next worker sends in the one before', async () => {
    reserve('t', 'phone');
    await clock.advance(300);
    expect(offered()).toEqual(['s']);
    job.isTaken = true;
    await clock.advance(300);
    expect(offered()).toEqual(['s']);
    job.isReleased = true;
    await clock.advance(100);
    expect(offered()).toEqual(['s', 't']);
  });

  it('offers the next call after a second if nobody has taken the one before', async () => {
    reserve('t', 'phone');
    job.move = 'noticed';
    reserve('u', 'phone');
    await clock.advance(900);
    expect(offered()).toEqual(['t']);
    await clock.advance(300);
    expect(offered()).toEqual(['t', 'u']);
  });

  it('offers two hundred phone calls before its last five seconds, though each is a second on its way', async () => {
    timer.cancel();
    for (let number = 1; number < 200; number++) reserve(`phone ${number}`, 'phone');
    drain(20_000);
    let most = 0;
    for (let passedMs = 0; passedMs < 15_000; passedMs += 100) {
      await clock.advance(100);
      const moving = jobs.all().filter(({ offeredMs }) => offeredMs !== null);
      most = Math.max(most, moving.length);
      for (const { sessionId, offeredMs } of moving)
        if (clock.now() - (offeredMs ?? 0) >= 900) jobs.remove(sessionId, 3);
    }
    expect(jobs.size).toBeLessThan(5);
    // A twelfth of them.
    expect(most).toBeLessThan(17);
  });

  it('offers all calls at once shortly before the drain ends', async () => {
    for (const each of [job, reserve('t', 'phone')]) each.move = 'noticed';
    await clock.advance(54_900);
    expect(offered()).toEqual([]);
    await clock.advance(100);
    expect(offered()).toEqual(['s', 't']);
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

  it('offers web calls one after another, because callers who move at once wait for each other', async () => {
    for (const name of ['a', 'b', 'c', 'd']) reserve(name, 'web');
    expect(await offeredEach(100, 10)).toEqual([2, 0, 1, 0, 1, 0, 0, 1, 0, 0]);
  });

  it('offers the next web call once the one before is in the hands of the next worker', async () => {
    const first = reserve('a', 'web');
    reserve('b', 'web');
    await clock.advance(200);
    first.isTaken = true;
    await clock.advance(1_500);
    expect(offered()).not.toContain('b');
    first.isReleased = true;
    await clock.advance(300);
    expect(offered()).toContain('b');
  });

  it('offers the next web call after a second if no worker takes the last one, and after three if none joins', async () => {
    const first = reserve('a', 'web');
    const second = reserve('b', 'web');
    reserve('c', 'web');
    await clock.advance(1_000);
    expect(offered()).not.toContain('b');
    await clock.advance(200);
    expect(offered()).toContain('b');
    first.move = 'noticed';
    second.isTaken = true;
    await clock.advance(2_700);
    expect(offered()).not.toContain('c');
    await clock.advance(300);
    expect(offered()).toContain('c');
  });

  it('offers its phone calls though a web call is on its way', async () => {
    reserve('a', 'web').isTaken = true;
    await clock.advance(100);
    expect(offered()).toContain('s');
  });

  it('says of a web call that it can wait for a worker that is ready, until shortly before the drain ends', async () => {
    jobs.remove('s', 3);
    reserve('a', 'web');
    await clock.advance(54_900);
    expect(sent.filter((message) => !('can_wait' in message))).toEqual([]);
    await clock.advance(100);
    expect(sent.at(-1)).toMatchObject({ session_id: 'a' });
    expect(sent.at(-1)).not.toHaveProperty('can_wait');
  });

  it('offers a web call to a worker that is ready after eight seconds within two more', async () => {
    reserve('a', 'web');
    await clock.advance(8_000);
    sent = [];
    await clock.advance(2_000);
    expect(offered()).toContain('a');
  });

  it('warns once that its web calls wait', async () => {
    reserve('a', 'web');
    reserve('b', 'web');
    await clock.advance(1_000);
    expect(logged).toEqual([]);
    await clock.advance(20_000);
    expect(logged).toEqual([expect.stringContaining('no other worker has taken a web call')]);
  });

  it('offers web calls that no worker takes one after another', async () => {
    for (const name of ['a', 'b', 'c', 'd']) reserve(name, 'web');
    await clock.advance(10_000);
    sent = [];
    await clock.advance(10_000);
    expect(new Set(offered())).toEqual(new Set(['s', 'a', 'b', 'c', 'd']));
  });

  it('offers hundreds of web calls before its last five seconds, most of them in the first half', async () => {
    for (let number = 0; number < 400; number++) reserve(`web ${number}`, 'web');
    timer.cancel();
    drain(20_000);
    const counts = await offeredEach(1_000, 14);
    const sum = (some: readonly number[]) => some.reduce((before, count) => before + count, 0);
    expect(sum(counts)).toBe(401);
    expect(sum(counts.slice(0, 7))).toBeGreaterThan(250);
    expect(Math.max(...counts)).toBeLessThan(100);
  });

  it('offers web calls a quarter of a second apart again once few of hundreds remain', async () => {
    for (let number = 0; number < 400; number++) reserve(`web ${number}`, 'web');
    timer.cancel();
    jobs.remove('s', 3);
    drain(20_000);
    await clock.advance(100);
    for (let number = 0; number < 390; number++) jobs.remove(`web ${number}`, 3);
    await clock.advance(1_000);
    expect(await offeredEach(100, 10)).toEqual([1, 0, 1, 0, 1, 0, 0, 1, 0, 1]);
  });

  it('offers every web call once before it offers again those that nobody took', async () => {
    const names = Array.from({ length: 40 }, (_, number) => `web ${number}`);
    for (const name of names) reserve(name, 'web');
    timer.cancel();
    jobs.remove('s', 3);
    drain(60_000);
    await clock.advance(20_000);
    const offered = sent.map((message) => message.type === 'hand_over' && message.session_id);
    expect(offered.slice(0, names.length).sort()).toEqual([...names].sort());
    expect(offered.length).toBeGreaterThan(names.length);
  });
});
