import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ManualClock } from '../../fakes/manual-clock.ts';
import { openTestWorker, type TestWorker, until } from './open-test-worker.ts';

let bench: TestWorker;
beforeEach(async () => {
  bench = await openTestWorker();
});
afterEach(() => bench.close());

describe('a worker', () => {
  it('declines calls beyond its capacity, and accepts the next one once a call has ended', async () => {
    await bench.start({ capacity: 1 });
    await bench.startWebCall('s1');
    await expect(bench.dispatch.place(bench.offer('s2'))).rejects.toMatchObject({ code: 'no_capacity' });
    bench.dispatch.end('w', bench.session('s1'), 'user_hangup');
    await until(() =>
      expect(bench.reports('s1').at(-1)).toMatchObject({ type: 'ended', end_reason: 'user_hangup' }),
    );
    expect(bench.media.open).toBe(0);
    // Accepted at once: the value in its last heartbeat does not count.
    await bench.startWebCall('s3');
  });

  it('receives the list of the control plane’s speech models', async () => {
    await bench.start();
    bench.dispatch.announceSpeechModels(['english']);
    await until(() => expect(bench.speechModels).toEqual(['english']));
  });

  it('learns from the control plane that web calls are in rooms', async () => {
    await bench.start();
    await until(() => expect(bench.isToldOfRooms).toBe(true));
  });

  it('says with each heartbeat whether it is ready for web calls', async () => {
    const clock = new ManualClock();
    await bench.start({ clock });
    const handedOver = (sessionId: string) =>
      bench.dispatch.place({ ...bench.offer(sessionId), needsReady: true });
    expect((await handedOver('s1')).instanceId).toBe('w');
    bench.media.isWebReady = false;
    await clock.advance(1_000);
    await seen();
    await expect(handedOver('s2')).rejects.toMatchObject({ code: 'no_capacity' });
    bench.media.isWebReady = true;
    await clock.advance(1_000);
    await seen();
    expect((await handedOver('s3')).instanceId).toBe('w');
  });

  /**
   * Resolves when the worker has processed everything sent to it before: this request follows on the same
   * link.
   */
  const seen = () =>
    expect(bench.dispatch.offerWebrtc('w', bench.session('unknown'), 'offer')).rejects.toThrow();

  it('has its event loop measured for the jobs that it has', async () => {
    const clock = new ManualClock();
    await bench.start({ capacity: 8, clock });
    const measured: number[] = [];
    for (const sessionId of ['s1', 's2', 's3']) {
      await bench.dispatch.place(bench.offer(sessionId));
      await clock.advance(1_000);
      await seen();
      measured.push(bench.measuredJobs);
    }
    expect(measured).toEqual([1, 2, 3]);
  });

  it('accepts offers one by one, at a limited rate, while its event loop is late', async () => {
    const clock = await bench.startLate({ capacity: 4 });
    const placed: string[] = [];
    const place = (sessionId: string) =>
      bench.dispatch.place(bench.offer(sessionId)).then(() => placed.push(sessionId));
    const all = [place('s2'), place('s3'), place('s4')];
    await seen();
    for (const expected of [['s2'], ['s2', 's3'], ['s2', 's3', 's4']]) {
      await clock.advance(60);
      await seen();
      expect(placed).toEqual(expected);
    }
    await Promise.all(all);
  });

  it('accepts no call while its event loop is far too late, and all waiting calls once it is on time', async () => {
    const clock = await bench.startLate({ capacity: 4, lagMs: 1_500 });
    const placed: string[] = [];
    const all = ['s2', 's3'].map((sessionId) =>
      bench.dispatch.place(bench.offer(sessionId)).then(() => placed.push(sessionId)),
    );
    await seen();
    await clock.advance(900);
    await seen();
    expect(placed).toEqual([]);
    bench.loopLagMs = 0;
    await clock.advance(100);
    await Promise.all(all);
    expect(placed).toEqual(['s2', 's3']);
  });

  it('delays an analysis until the event loop is on time again, and lets calls go first', async () => {
    const clock = await bench.startLate({ capacity: 4 });
    const placed: string[] = [];
    const all = [
      bench.dispatch.place(bench.offer('s2', 'analysis')).then(() => placed.push('s2')),
      bench.dispatch.place(bench.offer('s3')).then(() => placed.push('s3')),
    ];
    await seen();
    await clock.advance(500);
    await seen();
    expect(placed).toEqual(['s3']);
    bench.loopLagMs = 0;
    await clock.advance(1_000);
    await Promise.all(all);
  });

  it('takes turns of text sessions for half of its slots: the others are for callers', async () => {
    await bench.start({ capacity: 2, kinds: ['web', 'analysis', 'agent_test'] });
    await bench.dispatch.place(bench.offer('t1', 'text_turn'));
    await expect(bench.dispatch.place(bench.offer('t2', 'text_turn'))).rejects.toMatchObject({
      code: 'no_capacity',
    });
    await bench.dispatch.place(bench.offer('s1'));
  });

  it('uses no slot for an offer withdrawn while it waited for the event loop', async () => {
    const clock = await bench.startLate({ capacity: 2 });
    // Refused when the control plane's wait times out, or its link closes.
    bench.dispatch.place(bench.offer('s2')).catch(() => undefined);
    bench.dispatch.withdraw({ instanceId: 'w', supervisorRun: null, sipTag: null }, bench.session('s2'));
    await seen();
    bench.loopLagMs = 0;
    await clock.advance(1_000);
    expect((await bench.dispatch.place(bench.offer('s3'))).instanceId).toBe('w');
  });

  it('keeps a call that one replica has assigned when another one withdraws its own offer of it', async () => {
    await bench.start();
    await bench.startWebCall('s1');
    bench.dispatch.withdraw({ instanceId: 'w', supervisorRun: null, sipTag: null }, bench.session('s1'));
    await seen();
    expect(bench.types('s1')).not.toContain('ended');
    expect(bench.media.open).toBe(1);
    expect(await bench.dispatch.offerWebrtc('w', bench.session('s1'), 'offer')).toEqual({ sdp: 'answer' });
  });

  it('takes a call whose plan comes after another replica has withdrawn its own offer of it', async () => {
    await bench.start();
    const placement = await bench.dispatch.place(bench.offer('s1'));
    bench.dispatch.withdraw(placement, bench.session('s1'));
    bench.dispatch.assign(placement, bench.session('s1'), bench.planOf('s1'));
    expect(await bench.dispatch.offerWebrtc('w', bench.session('s1'), 'offer')).toEqual({ sdp: 'answer' });
  });

  it('accepts the next call however late its event loop is, if it has no call to protect', async () => {
    const clock = new ManualClock();
    await bench.start({ capacity: 2, clock });
    const placement = await bench.dispatch.place(bench.offer('s1'));
    await bench.makeLate(clock);
    bench.dispatch.withdraw(placement, bench.session('s1'));
    expect((await bench.dispatch.place(bench.offer('s2'))).instanceId).toBe('w');
  });

  it('ends only the session of a plan without an available engine', async () => {
    await bench.start({ capacity: 1 });
    bench.brokenEngines = true;
    bench.dispatch.assign(
      await bench.dispatch.place(bench.offer('s1')),
      bench.session('s1'),
      bench.planOf('s1'),
    );
    await until(() =>
      expect(bench.reports('s1')).toEqual([
        expect.objectContaining({ type: 'ended', end_reason: 'internal_error' }),
      ]),
    );
    bench.brokenEngines = false;
    await bench.startWebCall('s2');
  });

  it('reports a failed analysis as failed, and releases its slot', async () => {
    await bench.start({ capacity: 1 });
    const placement = await bench.dispatch.place(bench.offer('s1', 'analysis'));
    bench.dispatch.assignAnalysis(placement, bench.session('s1'), {
      job_id: 'j1',
      plan: bench.planOf('s1'),
      items: [],
    });
    await until(() =>
      expect(bench.reports('s1')).toEqual([expect.objectContaining({ type: 'analysis', job_id: 'j1' })]),
    );
    expect(bench.reports('s1')[0]).toMatchObject({
      result: { status: 'error', error: 'the model is unavailable' },
    });
    await bench.dispatch.place(bench.offer('s2'));
  });

  it('answers a browser offer for an unknown session at once', async () => {
    await bench.start();
    await expect(bench.dispatch.offerWebrtc('w', bench.session('unknown'), 'offer')).rejects.toMatchObject({
      code: 'gateway_unreachable',
    });
  });

  it('ends live calls at the time limit of a drain, and releases jobs that never got a plan', async () => {
    await bench.start({ drainMs: 100 });
    await bench.startWebCall('s1');
    await bench.dispatch.place(bench.offer('s2'));
    await bench.worker.drain();
    expect(bench.reports('s1').at(-1)).toMatchObject({ type: 'ended', end_reason: 'internal_error' });
    expect(bench.types('s2')).toEqual([]);
    expect(bench.spool.waiting()).toEqual([]);
    await expect(bench.dispatch.place(bench.offer('s3'))).rejects.toMatchObject({ code: 'no_capacity' });
  });

  it('does not wait in a drain for a goodbye that is never played', async () => {
    const clock = new ManualClock();
    bench.voice = async function* () {
      yield* [];
      await new Promise(() => undefined);
    };
    await bench.start({ drainMs: 5_000, clock });
    await bench.startWebCall('s1');
    const drained = bench.worker.drain();
    await clock.advance(4_900);
    expect(bench.types('s1')).not.toContain('ended');
    await clock.advance(8_000);
    await drained;
    expect(bench.reports('s1').at(-1)).toMatchObject({ type: 'ended', end_reason: 'internal_error' });
  });

  it('does not wait in a drain for a withdrawn job', async () => {
    await bench.start({ drainMs: 60_000 });
    const placement = await bench.dispatch.place(bench.offer('s1'));
    const drained = bench.worker.drain();
    bench.dispatch.withdraw(placement, bench.session('s1'));
    await drained;
  });

  it('hands the next web call over in a drain once it has left the one before', async () => {
    const clock = new ManualClock();
    await bench.start({ drainMs: 60_000, clock });
    for (const id of ['s1', 's2']) await bench.startWebCall(id);
    const handedOver = () => bench.events.filter((event) => event.startsWith('hand over'));
    const passes = (ms: number) => clock.advance(ms).then(seen);
    void bench.worker.drain();
    await vi.waitFor(() => passes(100).then(() => expect(handedOver()).toHaveLength(1)));
    const first = handedOver()[0]?.includes('s1') ? 's1' : 's2';
    await bench.dispatch.leave('w', bench.session(first));
    await passes(500);
    expect(handedOver()).toHaveLength(2);
  });

  it('registers anew if the plan of an accepted offer does not come, so that nobody thinks it has the call', async () => {
    const clock = new ManualClock();
    await bench.start({ clock });
    await bench.dispatch.place(bench.offer('s1'));
    for (let second = 1; second < 20; second++) {
      await clock.advance(1_000);
      // Otherwise the link would be lost by its silence.
      await seen();
    }
    expect(bench.events).toEqual(['back w []']);
    await clock.advance(1_000);
    await until(() => expect(bench.events).toContain('lost w'));
    await clock.advance(1_000);
    await until(() => expect(bench.events.at(-1)).toBe('back w []'));
  });

  it('continues its calls without the control plane, and ends them after two minutes of isolation', async () => {
    const clock = new ManualClock();
    await bench.start({ clock });
    await bench.startWebCall('s1');
    bench.loseControlPlane();
    const isEnded = () => bench.spool.waiting().some((envelope) => envelope.report.type === 'ended');
    const lostAtMs = clock.now();
    await vi.waitFor(
      async () => {
        // Each failed connection attempt takes real time; the waits in between do not.
        await clock.advance(500);
        expect(isEnded()).toBe(true);
      },
      { timeout: 20_000, interval: 5 },
    );
    expect(clock.now() - lostAtMs).toBeGreaterThanOrEqual(120_000);
    expect(clock.now() - lostAtMs).toBeLessThan(130_000);
    expect(bench.media.open).toBe(0);
  });
});
