import { describe, expect, it } from 'vitest';
import { createLogger } from '#base/log.ts';
import { EventBatcher, unpackEvents } from '#media/leg/event-batch.ts';
import type { LegEvent } from '#media/leg/leg.ts';
import { RemoteLegs } from '#media/thread/remote-legs.ts';
import type { FromMediaThread, ToMediaThread } from '#media/thread/thread-messages.ts';
import type { RunnerListener } from '#media/thread/transport.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

const opened = { inRateHz: 8000, outRateHz: 8000, originMs: 0, localPort: 4000, answerSdp: null };
const openRtp = (leg: number): ToMediaThread => ({
  type: 'openRtp',
  leg,
  options: { localAddress: '127.0.0.1', remote: null, recording: null },
});

/** An remoteLegs whose threads are simulated by the test. */
function start() {
  const clock = new ManualClock();
  const runs: { listener: RunnerListener; posted: ToMediaThread[]; isKilled: boolean }[] = [];
  const crashes: Error[] = [];
  const logged: string[] = [];
  const remoteLegs = new RemoteLegs({
    run: (listener) => {
      const run = { listener, posted: [] as ToMediaThread[], isKilled: false };
      runs.push(run);
      return {
        post: (message) => void run.posted.push(message),
        kill: () => {
          run.isKilled = true;
          return Promise.resolve();
        },
      };
    },
    settings: { rtpPortMin: 4000, rtpPortMax: 4100, publicIp: null, iceServers: [] },
    clock,
    logger: createLogger(
      { level: 'error', name: 'test' },
      { write: (line) => void logged.push((JSON.parse(line) as { msg: string }).msg) },
    ),
    onCrash: (error) => crashes.push(error),
  });
  const deliver = (message: FromMediaThread) => runs.at(-1)?.listener.onMessage(message);
  const posted = () => runs.at(-1)?.posted ?? [];
  const open = async () => {
    const opening = remoteLegs.open('rtp', openRtp);
    const asked = posted().at(-1);
    deliver({ type: 'opened', leg: asked?.type === 'openRtp' ? asked.leg : 0, opened });
    return (await opening).leg;
  };
  return { clock, runs, crashes, logged, remoteLegs, deliver, posted, open };
}

describe('the remote legs of the media thread', () => {
  it('sends commands issued together in one message, and at most one message per 5 ms', async () => {
    const { clock, deliver, posted, open } = start();
    deliver({ type: 'ready' });
    const leg = await open();
    await clock.advance(10);
    leg.send({ do: 'pause' });
    leg.send({ do: 'clear' });
    await clock.advance(1);
    leg.send({ do: 'resume' });
    leg.send({ do: 'watchVoice', reachMs: 256 });
    const commands = () =>
      posted().flatMap((message) =>
        message.type === 'commands' ? [message.commands.map(({ command }) => command.do)] : [],
      );
    expect(commands()).toEqual([['pause', 'clear']]);
    await clock.advance(4);
    expect(commands()).toEqual([
      ['pause', 'clear'],
      ['resume', 'watchVoice'],
    ]);
  });

  it('buffers events until a listener is attached, and delivers each leg its own events in order', async () => {
    const { deliver, open } = start();
    const [first, second] = [await open(), await open()];
    const batcher = new EventBatcher();
    batcher.add(2, { type: 'connected', atMs: 1 });
    batcher.addAudio(1, { slot: 0, atMs: 5, kind: 'audio' }, Int16Array.of(1, 2));
    batcher.addAudio(2, { slot: 9, atMs: 6, kind: 'absent' }, Int16Array.of(3, 4));
    batcher.add(1, { type: 'connected', atMs: 7 });
    const taken = batcher.take(10);
    expect(batcher.take(80)).toBeNull();
    if (taken) deliver({ type: 'events', batch: taken.batch });
    const heard: LegEvent[][] = [[], []];
    first.listen((events) => heard[0]?.push(...events));
    second.listen((events) => heard[1]?.push(...events));
    expect(heard).toEqual([
      [
        { type: 'audio', slot: 0, atMs: 5, kinds: Uint8Array.of(0), samples: Int16Array.of(1, 2) },
        { type: 'connected', atMs: 7 },
      ],
      [
        { type: 'connected', atMs: 1 },
        { type: 'audio', slot: 9, atMs: 6, kinds: Uint8Array.of(3), samples: Int16Array.of(3, 4) },
      ],
    ]);
  });

  it('sends audio of all legs five frames at a time, and events at once with the audio before them', () => {
    const batcher = new EventBatcher();
    const frame = (leg: number, slot: number) =>
      batcher.addAudio(
        leg,
        { slot, atMs: slot * 20, kind: slot % 2 === 0 ? 'audio' : 'concealed' },
        Int16Array.of(slot, leg),
      );
    const at = (nowMs: number) => {
      const taken = batcher.take(nowMs);
      return taken ? Object.fromEntries(unpackEvents(taken.batch)) : null;
    };
    frame(1, 0);
    expect(at(0)).toMatchObject({ 1: [{ type: 'audio', slot: 0 }] });
    frame(1, 1);
    frame(2, 1);
    expect(at(20)).toBeNull();
    frame(1, 2);
    frame(2, 2);
    batcher.add(2, { type: 'connected', atMs: 41 });
    expect(at(40)).toEqual({
      2: [
        { type: 'audio', slot: 1, atMs: 20, kinds: Uint8Array.of(1, 0), samples: Int16Array.of(1, 2, 2, 2) },
        { type: 'connected', atMs: 41 },
      ],
    });
    frame(1, 3);
    frame(1, 4);
    frame(2, 5);
    expect(at(80)).toBeNull();
    expect(at(100)).toEqual({
      1: [
        {
          type: 'audio',
          slot: 1,
          atMs: 20,
          kinds: Uint8Array.of(1, 0, 1, 0),
          samples: Int16Array.of(1, 1, 2, 1, 3, 1, 4, 1),
        },
      ],
      2: [{ type: 'audio', slot: 5, atMs: 100, kinds: Uint8Array.of(1), samples: Int16Array.of(5, 2) }],
    });
    // A skipped slot starts a new piece.
    frame(1, 5);
    frame(1, 7);
    expect(at(200)).toMatchObject({ 1: [{ slot: 5 }, { slot: 7 }] });
  });

  it('does not transfer the arrays it is given to play', async () => {
    const { posted, open } = start();
    const leg = await open();
    const whole = Int16Array.of(1, 2, 3, 4);
    leg.send({
      do: 'play',
      replyId: 'r',
      pieceId: 0,
      samples: whole.subarray(1, 3),
      marks: Int32Array.of(),
      last: true,
    });
    await Promise.resolve();
    const message = posted().at(-1);
    expect(message?.type === 'commands' && message.commands[0]?.command).toMatchObject({
      do: 'play',
      samples: Int16Array.of(2, 3),
    });
    expect(whole).toEqual(Int16Array.of(1, 2, 3, 4));
  });

  it('closes every leg as failed when the thread dies, reports it, and uses another for new legs', async () => {
    const { clock, runs, crashes, remoteLegs, deliver, open } = start();
    deliver({ type: 'ready' });
    const leg = await open();
    const events: LegEvent[] = [];
    leg.listen((batch) => events.push(...batch));
    const opening = remoteLegs.open('rtp', openRtp);
    runs[0]?.listener.onEnded(new Error('gone'));
    await expect(opening).rejects.toMatchObject({ code: 'internal' });
    expect(events).toMatchObject([{ type: 'closed', reason: 'failed' }]);
    expect(crashes.map((error) => error.message)).toEqual(['gone']);
    await expect(remoteLegs.open('rtp', openRtp)).rejects.toMatchObject({ code: 'no_capacity' });
    await clock.advance(200);
    expect(runs).toHaveLength(2);
    await open();
  });

  it('starts only one replacement, however soon another leg is requested', async () => {
    const { clock, runs, remoteLegs, deliver, posted, open } = start();
    deliver({ type: 'ready' });
    const leg = await open();
    let reopening: Promise<unknown> = Promise.resolve();
    leg.listen(() => {
      reopening = remoteLegs.open('rtp', openRtp);
    });
    runs[0]?.listener.onEnded(new Error('gone'));
    await expect(reopening).rejects.toMatchObject({ code: 'no_capacity' });
    await clock.advance(200);
    const successor = await open();
    await clock.advance(1000);
    expect(runs).toHaveLength(2);
    successor.send({ do: 'clear' });
    await clock.advance(5);
    expect(posted().at(-1)).toMatchObject({
      type: 'commands',
      commands: [{ leg: 2, command: { do: 'clear' } }],
    });
  });

  it('reports a failed first start, and retries with the next leg', async () => {
    const { clock, runs, crashes, remoteLegs, open } = start();
    runs[0]?.listener.onEnded(new Error('cannot load'));
    await expect(remoteLegs.started).rejects.toThrow('cannot load');
    await clock.advance(1000);
    expect([runs.length, crashes.length]).toEqual([1, 0]);
    await open();
    expect(runs).toHaveLength(2);
  });

  describe('that are to be ready before the first leg', () => {
    const isWarming = ({ posted }: { readonly posted: readonly ToMediaThread[] }) =>
      posted.some(({ type }) => type === 'warmUp');

    it('retry a failed first start, less and less often, and log it once', async () => {
      const { clock, runs, logged, remoteLegs, deliver } = start();
      remoteLegs.warmUp(['livekit']);
      const startsWithin = async (ms: number) => {
        const before = runs.length;
        for (let passedMs = 0; passedMs < ms; passedMs += 100) {
          runs.at(-1)?.listener.onEnded(new Error('cannot load'));
          await clock.advance(100);
        }
        return runs.length - before;
      };
      expect(await startsWithin(3_000)).toBe(3);
      expect(logged).toEqual(['the media thread or process cannot start; tried again']);
      await clock.advance(30_000);
      expect(runs.every(isWarming)).toBe(true);
      deliver({ type: 'ready' });
      const { length } = runs;
      await clock.advance(60_000);
      expect(runs).toHaveLength(length);
    });

    it('retry a first start that had failed before they were to be ready', () => {
      const { runs, remoteLegs } = start();
      runs[0]?.listener.onEnded(new Error('cannot load'));
      remoteLegs.warmUp(['livekit']);
      expect(runs.map(isWarming)).toEqual([false, true]);
    });

    it('retry a failed first start at once for a leg, and only once', async () => {
      const { clock, runs, remoteLegs, open } = start();
      remoteLegs.warmUp(['livekit']);
      runs[0]?.listener.onEnded(new Error('cannot load'));
      await open();
      await clock.advance(60_000);
      expect(runs).toHaveLength(2);
    });

    it('start no more once they are closed', async () => {
      const { clock, runs, remoteLegs } = start();
      remoteLegs.warmUp(['livekit']);
      runs[0]?.listener.onEnded(new Error('cannot load'));
      await remoteLegs.close();
      remoteLegs.warmUp(['livekit']);
      await clock.advance(60_000);
      expect(runs).toHaveLength(1);
    });
  });

  it('stops the thread gracefully, or terminates it when it does not answer', async () => {
    const orderly = start();
    orderly.deliver({ type: 'ready' });
    const closing = orderly.remoteLegs.close();
    expect(orderly.posted().at(-1)).toEqual({ type: 'stop' });
    expect(orderly.runs[0]?.isKilled).toBe(false);
    orderly.deliver({ type: 'stopped' });
    await closing;
    expect(orderly.runs[0]?.isKilled).toBe(true);
    expect(orderly.clock.pendingTimers).toBe(0);
    await expect(orderly.remoteLegs.open('rtp', openRtp)).rejects.toMatchObject({ code: 'draining' });
    const stuck = start();
    const forced = stuck.remoteLegs.close();
    await stuck.clock.advance(5000);
    await forced;
    expect(stuck.runs[0]?.isKilled).toBe(true);
  });
});
