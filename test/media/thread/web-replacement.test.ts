/**
 * When the process of the web calls is replaced, and what happens if its replacement fails. The processes are
 * simulated; `web-legs.test.ts` runs real ones.
 */
import { describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import type { Transport } from '#media/leg/leg-factory.ts';
import { RemoteLegs } from '#media/thread/remote-legs.ts';
import type { FromMediaThread, ToMediaThread } from '#media/thread/thread-messages.ts';
import type { RunnerListener } from '#media/thread/transport.ts';
import { WebLegs } from '#media/thread/web-legs.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

const ROOMS = 3;
const opened = { inRateHz: 16_000, outRateHz: 24_000, originMs: 0, localPort: null, answerSdp: null };
const openLivekit = (leg: number): ToMediaThread => ({
  type: 'openLivekit',
  leg,
  options: { url: '', token: '', callerIdentity: '', recording: null, mayRejoin: true },
});

/** One process. */
interface Run {
  readonly listener: RunnerListener;
  readonly opening: number[];
  readonly warming: (readonly Transport[])[];
  isKilled: boolean;
}

function start() {
  const clock = new ManualClock();
  const runs: Run[] = [];
  const logged: string[] = [];
  const logger = createLogger(
    { level: 'warn', name: 'test' },
    { write: (line) => void logged.push((JSON.parse(line) as { msg: string }).msg) },
  );
  const system = { mayFork: true };
  const run = (listener: RunnerListener) => {
    if (!system.mayFork) throw new Error('out of memory');
    const one: Run = { listener, opening: [], warming: [], isKilled: false };
    runs.push(one);
    return {
      post: (message: ToMediaThread) => {
        if (message.type === 'openLivekit') one.opening.push(message.leg);
        if (message.type === 'warmUp') one.warming.push(message.transports);
      },
      kill: async () => {
        one.isKilled = true;
      },
    };
  };
  const settings = { rtpPortMin: 4000, rtpPortMax: 4100, publicIp: null, iceServers: [] };
  const web = new WebLegs({
    start: (listener) => new RemoteLegs({ run, settings, clock, logger, ...listener }),
    clock,
    logger,
    roomsPerProcess: ROOMS,
  });
  const deliver = (number: number, message: FromMediaThread) => runs[number]?.listener.onMessage(message);
  /** Asks for rooms, which this process joins. */
  const join = async (number: number, times = 1) => {
    for (let time = 0; time < times; time++) {
      const opening = web.open('livekit', openLivekit);
      deliver(number, { type: 'opened', leg: runs[number]?.opening.shift() ?? 0, opened });
      await opening;
    }
  };
  const failToJoin = async (number: number) => {
    const opening = web.open('livekit', openLivekit);
    const leg = runs[number]?.opening.shift() ?? 0;
    deliver(number, { type: 'refused', leg, code: 'gateway_unreachable', message: '' });
    await expect(opening).rejects.toThrow();
  };
  const die = (number: number) => runs[number]?.listener.onEnded(new Error('SIGKILL'));
  deliver(0, { type: 'ready' });
  return { clock, web, runs, logged, system, deliver, join, failToJoin, die };
}

const FAILURE = 'no other process can take the web calls; tried again later';

describe('the replacement of the process of the web calls', () => {
  it('takes new rooms once it has loaded everything', async () => {
    const { runs, deliver, join } = start();
    await join(0, ROOMS);
    deliver(1, { type: 'ready' });
    await join(0);
    deliver(1, { type: 'warm', isComplete: true });
    await join(1, ROOMS);
    expect(runs.map(({ isKilled }) => isKilled)).toEqual([false, false]);
  });

  it('is given up if it could not load everything, because all of its rooms would fail', async () => {
    const { clock, runs, logged, deliver, join } = start();
    await join(0, ROOMS);
    deliver(1, { type: 'ready' });
    deliver(1, { type: 'warm', isComplete: false });
    deliver(1, { type: 'stopped' });
    await clock.advance(0);
    expect(runs[1]?.isKilled).toBe(true);
    expect(logged).toEqual([FAILURE]);
    await join(0, ROOMS - 1);
    expect(runs).toHaveLength(2);
    await join(0);
    expect(runs).toHaveLength(3);
  });

  it('is given up if it has not loaded everything within 30 s', async () => {
    const { clock, runs, logged, deliver, join } = start();
    await join(0, ROOMS);
    deliver(1, { type: 'ready' });
    await clock.advance(29_000);
    expect(logged).toEqual([]);
    await clock.advance(2_000);
    expect(logged).toEqual([FAILURE]);
    await clock.advance(5_000);
    expect(runs[1]?.isKilled).toBe(true);
    deliver(1, { type: 'warm', isComplete: true });
    await join(0, ROOMS);
    deliver(2, { type: 'ready' });
    deliver(2, { type: 'warm', isComplete: true });
    await clock.advance(60_000);
    await join(2);
    expect(logged).toEqual([FAILURE]);
  });

  it.each([
    ['starts', []],
    ['loads', [{ type: 'ready' } as const]],
  ])('is started again only after as many rooms if it dies while it %s', async (_, messages) => {
    const { clock, runs, logged, deliver, join, die } = start();
    await join(0, ROOMS);
    for (const message of messages) deliver(1, message);
    die(1);
    await clock.advance(60_000);
    await join(0, ROOMS - 1);
    expect(runs).toHaveLength(2);
    expect(logged.filter((line) => line === FAILURE)).toHaveLength(1);
    await join(0);
    expect(runs).toHaveLength(3);
  });

  it('costs no room if the system cannot start it', async () => {
    const { runs, logged, system, join } = start();
    system.mayFork = false;
    await join(0, 2 * ROOMS - 1);
    expect(logged).toEqual([FAILURE]);
    system.mayFork = true;
    await join(0);
    expect(runs).toHaveLength(2);
  });

  it('is started after as many rooms as were joined since the process started', async () => {
    const { clock, runs, join, failToJoin, deliver, die } = start();
    await join(0, ROOMS - 1);
    await failToJoin(0);
    expect(runs).toHaveLength(1);
    die(0);
    await clock.advance(1_000);
    expect(runs).toHaveLength(2);
    deliver(1, { type: 'ready' });
    await join(1, ROOMS - 1);
    expect(runs).toHaveLength(2);
    await join(1);
    expect(runs).toHaveLength(3);
  });
});

describe('the web calls are ready', () => {
  const warm = { type: 'warm', isComplete: true } as const;

  it('once their process has loaded everything that it was asked for', () => {
    const { web, deliver } = start();
    web.warmUp(['webrtc']);
    web.warmUp(['livekit']);
    deliver(0, warm);
    expect(web.isReady).toBe(false);
    deliver(0, warm);
    expect(web.isReady).toBe(true);
    web.warmUp(['livekit']);
    expect(web.isReady).toBe(false);
  });

  it('though something cannot be loaded that is no longer needed', async () => {
    const { web, runs, logged, deliver, join } = start();
    web.warmUp(['webrtc']);
    deliver(0, { type: 'warm', isComplete: false });
    web.warmUp(['livekit']);
    deliver(0, warm);
    expect(web.isReady).toBe(true);
    await join(0, ROOMS);
    expect(runs[1]?.warming).toEqual([['livekit']]);
    expect(logged).toEqual([]);
  });

  it('once a replacement has loaded what their first process could not', async () => {
    const { web, deliver, join } = start();
    web.warmUp(['livekit']);
    deliver(0, { type: 'warm', isComplete: false });
    await join(0, ROOMS);
    expect(web.isReady).toBe(false);
    deliver(1, { type: 'ready' });
    deliver(1, warm);
    expect(web.isReady).toBe(true);
  });

  it('never if it cannot be loaded', () => {
    const { web, deliver } = start();
    web.warmUp(['livekit']);
    deliver(0, { type: 'warm', isComplete: false });
    expect(web.isReady).toBe(false);
  });

  it('no longer when their process has died, until the next one has loaded everything', async () => {
    const { clock, web, deliver, die } = start();
    web.warmUp(['livekit']);
    deliver(0, warm);
    die(0);
    expect(web.isReady).toBe(false);
    await clock.advance(1_000);
    expect(web.isReady).toBe(false);
    deliver(1, warm);
    expect(web.isReady).toBe(true);
  });

  it('while a replacement loads, fails or takes over', async () => {
    const { web, deliver, join, die } = start();
    web.warmUp(['livekit']);
    deliver(0, warm);
    await join(0, ROOMS);
    die(1);
    expect(web.isReady).toBe(true);
    await join(0, ROOMS);
    deliver(2, { type: 'ready' });
    deliver(2, warm);
    await join(2);
    expect(web.isReady).toBe(true);
  });
});
