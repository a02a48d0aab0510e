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
  lease.registered(0, true);
});

const maySpeak = () => clock.now() < untilMs;
/** Signalling servers. */
const [S1, S2] = [{}, {}];
/** A server has heard what the worker has just sent, and a control plane may know that. */
const heard = (isReported: boolean) => ({ sentMs: clock.now(), isReported });

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
    lease.asked(S1, null);
    for (let second = 0; second < 30; second++) {
      await clock.advance(1_000);
      if (second < 15) lease.linked(clock.now());
      else lease.asked(S1, heard(false));
      expect(maySpeak()).toBe(true);
    }
  });

  it('is not renewed by one of two servers alone, because the other one may call the worker silent', async () => {
    for (const server of [S1, S2]) lease.asked(server, null);
    for (let second = 0; second < 10; second++) {
      await clock.advance(1_000);
      lease.asked(S1, heard(false));
    }
    expect(maySpeak()).toBe(false);
  });

  it('is renewed by one of two servers if a control plane knows that it hears the worker', async () => {
    for (const server of [S1, S2]) lease.asked(server, null);
    for (let second = 0; second < 10; second++) {
      await clock.advance(1_000);
      lease.asked(S1, heard(true));
    }
    expect(maySpeak()).toBe(true);
  });

  it('no longer needs a server whose process is gone before it could call the worker silent', async () => {
    for (const server of [S1, S2]) lease.asked(server, null);
    await clock.advance(SPEAKING_LEASE_MS - 1_000);
    lease.asked(S1, heard(false));
    lease.gone(S2);
    for (let second = 0; second < 10; second++) {
      await clock.advance(1_000);
      expect(maySpeak()).toBe(true);
      lease.asked(S1, heard(false));
    }
    // Its successor may call the worker silent once it knows it.
    lease.asked(S2, null);
    for (let second = 0; second < 10; second++) {
      await clock.advance(1_000);
      lease.asked(S1, heard(false));
    }
    expect(maySpeak()).toBe(false);
  });

  it('needs a server that may have called the worker silent before its process went', async () => {
    for (const server of [S1, S2]) lease.asked(server, null);
    for (let second = 0; second < 5; second++) {
      await clock.advance(1_000);
      lease.linked(clock.now());
      lease.asked(S1, heard(false));
    }
    lease.gone(S2);
    for (let second = 0; second < 5; second++) {
      await clock.advance(1_000);
      lease.asked(S1, heard(false));
    }
    expect(maySpeak()).toBe(false);
  });

  it('ends if no server is left: the worker itself may be cut off', async () => {
    for (const server of [S1, S2]) lease.asked(server, null);
    for (const server of [S1, S2]) lease.gone(server);
    await clock.advance(SPEAKING_LEASE_MS + 1);
    expect(maySpeak()).toBe(false);
  });

  it('no longer needs a server that has not heard the worker for long enough to have forgotten it', async () => {
    for (const server of [S1, S2]) lease.asked(server, null);
    for (let second = 0; second < 150; second++) {
      await clock.advance(1_000);
      lease.asked(S1, heard(second < 130));
    }
    expect(maySpeak()).toBe(true);
  });

  it('is unlimited again when the last server has forgotten the worker, and the control plane hears it', async () => {
    lease.asked(S1, null);
    for (let second = 0; second < 150; second++) {
      await clock.advance(1_000);
      lease.linked(clock.now());
      expect(maySpeak()).toBe(true);
    }
    expect(untilMs).toBe(Number.POSITIVE_INFINITY);
  });

  it('has lapsed after a standstill, even one after which the last server has forgotten the worker', async () => {
    lease.asked(S1, null);
    clock.stall(130_000);
    await clock.advance(1_000);
    lease.linked(clock.now());
    expect({ maySpeak: maySpeak(), hasLapsed: lease.hasLapsed }).toEqual({
      maySpeak: false,
      hasLapsed: true,
    });
  });

  it('counts from the time the acknowledged message was sent, not from its answer', async () => {
    lease.asked(S1, null);
    await clock.advance(2_000);
    const sentMs = clock.now();
    await clock.advance(1_000);
    lease.asked(S1, { sentMs, isReported: false });
    expect(untilMs).toBe(sentMs + SPEAKING_LEASE_MS);
  });

  it('ends although the event loop of the worker does not run', async () => {
    lease.asked(S1, null);
    lease.close();
    await clock.advance(SPEAKING_LEASE_MS + 1);
    expect(maySpeak()).toBe(false);
  });

  it('does not begin again with an answer, but when a control plane has confirmed the calls', async () => {
    lease.asked(S1, null);
    await clock.advance(20_000);
    lease.linked(clock.now());
    lease.asked(S1, heard(true));
    expect(maySpeak()).toBe(false);
    let hasItsCalls = false;
    void lease.hasItsCalls().then(() => {
      hasItsCalls = true;
    });
    lease.registered(lease.lapses, true);
    expect(maySpeak()).toBe(false);
    lease.confirm({ lapses: lease.lapses, sentMs: clock.now() });
    await clock.advance(1);
    expect({ maySpeak: maySpeak(), hasItsCalls }).toEqual({ maySpeak: true, hasItsCalls: true });
  });

  it('does not begin again with a confirmation from before the lapse', async () => {
    lease.asked(S1, null);
    const before = lease.lapses;
    await clock.advance(20_000);
    lease.confirm({ lapses: before, sentMs: clock.now() });
    expect(maySpeak()).toBe(false);
  });

  it('begins again with the registration at a control plane of the last release, which confirms nothing', async () => {
    lease.asked(S1, null);
    await clock.advance(20_000);
    lease.registered(lease.lapses, false);
    expect(maySpeak()).toBe(true);
  });

  it('stays unlimited at a control plane of the last release: signalling must not learn of the worker', async () => {
    lease.registered(0, false);
    expect(lease.asked(S1, null)).toBe(false);
    await clock.advance(20_000);
    expect(maySpeak()).toBe(true);
  });
});
