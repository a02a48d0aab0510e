import { describe, expect, it } from 'vitest';
import { attributeIn, attributionMemory, COUNTERS } from '#processes/hang-attribution.ts';
import { SessionWatch } from '#processes/session-watch.ts';

/** A watched loop; `asleep` is called where the thread would sleep. */
function watched(asleep: (counters: Int32Array<SharedArrayBuffer>) => void = () => undefined) {
  const memory = attributionMemory();
  const within = attributeIn(memory);
  const reported: string[] = [];
  let sleeps = 0;
  const watch = new SessionWatch(
    memory,
    (line) => reported.push(line),
    (counters) => {
      sleeps += 1;
      asleep(counters);
    },
  );
  return { within, watch, reported, sleeps: () => sleeps };
}

describe('the thread that attributes hangs', () => {
  it('sleeps as long as the loop works on no session', () => {
    const { watch, reported, sleeps } = watched();
    watch.look();
    expect([sleeps(), reported]).toEqual([1, []]);
  });

  it('reports a session in which the loop stays, and does not sleep meanwhile', () => {
    const { within, watch, reported, sleeps } = watched();
    within('ses_1')(() => {
      for (let look = 0; look < 3; look++) watch.look();
    });
    expect([reported, sleeps()]).toEqual([['session ses_1'], 0]);
  });

  it('takes back what it has reported before it sleeps again', () => {
    const { within, watch, reported, sleeps } = watched();
    within('ses_1')(() => {
      watch.look();
      watch.look();
    });
    watch.look();
    expect([reported, sleeps()]).toEqual([['session ses_1', ''], 0]);
    watch.look();
    expect(sleeps()).toBe(1);
  });

  it('does not sleep while the loop turns from one session to the next', () => {
    const { within, watch, sleeps } = watched();
    for (let turn = 0; turn < 3; turn++) {
      within(`ses_${turn}`)(() => undefined);
      watch.look();
    }
    expect(sleeps()).toBe(0);
  });

  it('is woken up by a session that begins while it sleeps', () => {
    const woken: string[] = [];
    const { within, watch } = watched((counters) => {
      within('ses_1')(() => {
        // Of a thread that still waited it would say that the time is over.
        woken.push(Atomics.wait(counters, COUNTERS.isAsleep, 1, 0));
      });
    });
    watch.look();
    expect(woken).toEqual(['not-equal']);
  });

  it('reports a session that began while it slept', () => {
    const { within, watch, reported, sleeps } = watched();
    watch.look();
    within('ses_1')(() => {
      watch.look();
      watch.look();
    });
    expect([reported, sleeps()]).toEqual([['session ses_1'], 1]);
  });
});
