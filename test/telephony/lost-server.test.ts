/** One of two signalling servers is lost while all control planes are away, under a call. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { SpeakingLease } from '#runtime/link/speaking-lease.ts';
import type { WorkerWatch } from '#telephony/drachtio/worker-probe.ts';
import { ManualClock } from '#test/fakes/manual-clock.ts';
import { openTwoServers, PATIENCE, type TwoServers } from './two-servers.ts';

/** Each server asks once a second. */
const SECOND_MS = 1_000;
/** Time for an answer on the loopback. */
const ANSWER_MS = 100;
/** Several times the lease. */
const SECONDS = 12;

describe('a worker that loses one of its signalling servers while no control plane is there', () => {
  let clock: ManualClock;
  let lease: SpeakingLease;
  let untilMs: number;
  /** Servers that have refused a connection. */
  let gone: number;
  /** Questions of the servers, and those of them that have said what they had heard. */
  let asked: number;
  let heard: number;
  let two: TwoServers;

  beforeEach(async () => {
    [clock, untilMs, gone, asked, heard] = [new ManualClock(), Number.POSITIVE_INFINITY, 0, 0, 0];
    lease = new SpeakingLease({
      clock,
      logger: createLogger({ level: 'silent', name: 'test' }),
      onChange: (changed) => {
        untilMs = changed;
      },
    });
    lease.registered(0, true);
    const watch: WorkerWatch = {
      now: () => lease.now(),
      asked(server, known) {
        asked += 1;
        if (known) heard += 1;
        return lease.asked(server, known);
      },
      gone(server) {
        gone += 1;
        lease.gone(server);
      },
      hasItsCalls: () => lease.hasItsCalls(),
    };
    two = await openTwoServers(watch, clock);
  });
  afterEach(async () => {
    await two.close();
    lease.close();
  });

  /** Seconds in each of which this many servers say what they have heard. */
  const passSeconds = async (seconds: number, servers: 1 | 2) => {
    for (let second = 0; second < seconds; second++) {
      const before = heard;
      await clock.advance(SECOND_MS);
      await expect.poll(() => heard - before, { ...PATIENCE, interval: 5 }).toBe(servers);
    }
  };
  /** A call, of a worker that both servers know. */
  const call = async () => {
    const dialog = await two.call();
    await clock.advance(SECOND_MS);
    await expect.poll(() => asked, PATIENCE).toBe(2);
    // Its answers to the first questions are still under way.
    await sleep(ANSWER_MS);
    await passSeconds(2, 2);
    return dialog;
  };

  it('goes on, and its call moves to the other server, if the process is gone', async () => {
    const dialog = await call();
    const links = two.parts.links;
    links[0].kill();
    await expect.poll(() => gone, PATIENCE).toBeGreaterThan(0);
    await two.acceptReinvite();
    await expect.poll(() => dialog.facts.server, PATIENCE).toBe(`127.0.0.1:${links[1].port}`);
    await passSeconds(SECONDS, 1);
    expect({ hasLapsed: lease.hasLapsed, maySpeak: clock.now() < untilMs }).toEqual({
      hasLapsed: false,
      maySpeak: true,
    });
  });

  it('is silent if that server may still be there and say that it does not hear the worker', async () => {
    await call();
    two.parts.links[0].cut();
    await expect.poll(() => two.parts.worker.servers.length, PATIENCE).toBe(1);
    await passSeconds(SECONDS, 1);
    expect(lease.hasLapsed).toBe(true);
  });
});
