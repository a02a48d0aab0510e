import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { FairScheduler } from '#media/speech/pool/fair-scheduler.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

/** A thread on which each piece of work takes this long. */
function openThread(workMs = 100) {
  const clock = new ManualClock();
  let worked = 0;
  const scheduler = new FairScheduler({ clock, nextRound: () => nextRound(), workedMs: () => worked });
  const done: string[] = [];
  return {
    clock,
    done,
    ask: (account: string, mustShare: boolean) =>
      void scheduler.run({ account, mustShare }, 1, () => {
        worked += workMs;
        done.push(account);
      }),
  };
}

async function rounds() {
  for (let round = 0; round < 200; round++) await nextRound();
}

describe('the scheduler of a speech thread', () => {
  it('gives a lone account the whole thread', async () => {
    const { ask, done } = openThread();
    for (let n = 0; n < 5; n++) ask('ada', false);
    await rounds();
    expect(done).toHaveLength(5);
  });

  it('gives an account that must share fifteen seconds of audio at once', async () => {
    const { ask, done } = openThread();
    for (let n = 0; n < 15; n++) ask('ada', true);
    await rounds();
    expect(done).toHaveLength(15);
  });

  it('then gives it a third of the thread', async () => {
    const { clock, ask, done } = openThread();
    for (let n = 0; n < 30; n++) ask('ada', true);
    await rounds();
    expect(done).toHaveLength(17);
    await clock.advance(199);
    await rounds();
    expect(done).toHaveLength(17);
    await clock.advance(1);
    await rounds();
    expect(done).toHaveLength(18);
  });

  it('makes at most sixty seconds of audio a second for an account that must share', async () => {
    const { clock, ask, done } = openThread(0);
    for (let n = 0; n < 100; n++) ask('ada', true);
    await rounds();
    expect(done).toHaveLength(17);
    for (let ms = 0; ms < 1_000; ms++) {
      await clock.advance(1);
      await rounds();
    }
    expect(done.length).toBeGreaterThanOrEqual(17 + 58);
    expect(done.length).toBeLessThanOrEqual(17 + 60);
  });

  it('ends the pause at once for work of another account, which goes first', async () => {
    const { ask, done } = openThread();
    for (let n = 0; n < 30; n++) ask('ada', true);
    await rounds();
    ask('bob', true);
    await rounds();
    expect(done.slice(16, 18)).toEqual(['ada', 'bob']);
  });

  it('does not pause while work of another account is waiting', async () => {
    const { ask, done } = openThread();
    for (let n = 0; n < 30; n++) ask('ada', true);
    for (let n = 0; n < 30; n++) ask('bob', true);
    await rounds();
    expect(done.length).toBeGreaterThan(34);
  });
});
