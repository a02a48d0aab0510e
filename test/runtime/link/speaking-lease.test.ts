import { beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { SPEAKING_LEASE_MS } from '#protocol/worker-watch.ts';
import { SpeakingLease } from '#runtime/link/speaking-lease.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';

const logger = createLogger({ level: 'silent', name: 'test' });

let clock: ManualClock;
let lease: SpeakingLease;
/** The time until which the media may send. */
let untilMs: number;

beforeEach(() => {
  clock = new ManualClock();
  untilMs = Number.POSITIVE_INFINITY;
  lease = new SpeakingLease({
    clock,
    logger,
    onChange: (changed) => {
      untilMs = changed;
    },
  });
});

const maySpeak = () => clock.now() < untilMs;

describe('the time that a worker may speak without an answer', () => {
  it('is unlimited for a worker that signalling does not watch: nobody takes its calls by evidence', async () => {
    lease.linked(clock.now());
    await clock.advance(600_000);
    expect({ maySpeak: maySpeak(), hasLapsed: lease.hasLapsed }).toEqual({
      maySpeak: true,
      hasLapsed: false,
    });
  });

  it('is renewed by the control plane or by signalling alone', async () => {
    lease.acknowledged(clock.now());
    for (let second = 0; second < 30; second++) {
      await clock.advance(1_000);
      if (second < 15) lease.linked(clock.now());
      else lease.acknowledged(clock.now());
      expect(maySpeak()).toBe(true);
    }
  });

  it('counts from the time the acknowledged message was sent, not from its answer', async () => {
    const sentMs = clock.now();
    await clock.advance(3_000);
    lease.acknowledged(sentMs);
    expect(untilMs).toBe(sentMs + SPEAKING_LEASE_MS);
  });

  it('ends although the event loop of the worker does not run', async () => {
    lease.acknowledged(clock.now());
    lease.close();
    await clock.advance(SPEAKING_LEASE_MS + 1);
    expect(maySpeak()).toBe(false);
  });

  it('does not begin again with an answer, but when a control plane has confirmed the calls', async () => {
    lease.acknowledged(clock.now());
    await clock.advance(20_000);
    lease.linked(clock.now());
    lease.acknowledged(clock.now());
    expect(maySpeak()).toBe(false);
    let hasItsCalls = false;
    void lease.hasItsCalls().then(() => {
      hasItsCalls = true;
    });
    lease.confirm(lease.lapses);
    await clock.advance(1);
    expect({ maySpeak: maySpeak(), hasItsCalls }).toEqual({ maySpeak: true, hasItsCalls: true });
  });

  it('does not begin again with a confirmation from before the lapse', async () => {
    lease.acknowledged(clock.now());
    const before = lease.lapses;
    await clock.advance(20_000);
    lease.confirm(before);
    expect(maySpeak()).toBe(false);
  });
});
