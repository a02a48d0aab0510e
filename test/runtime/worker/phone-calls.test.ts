import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import type { IncomingInvite } from '#telephony/signalling.ts';
import { openTestWorker, type TestWorker, until } from './open-test-worker.ts';

const SDP_OFFER = [
  'v=0',
  'o=- 1 1 IN IP4 127.0.0.1',
  's=-',
  'c=IN IP4 127.0.0.1',
  't=0 0',
  'm=audio 40000 RTP/AVP 0',
  '',
].join('\r\n');

let bench: TestWorker;
beforeEach(async () => {
  bench = await openTestWorker();
});
afterEach(() => bench.close());

/** An INVITE as delivered by signalling. */
function inviteOf(bench: TestWorker, sessionId: string) {
  const seen: string[] = [];
  let cancel: () => void = () => undefined;
  const facts = {
    sipCallId: `${sessionId}@peer`,
    localTag: 'l',
    remoteTag: 'r',
    localParty: '<sip:l>;tag=l',
    remoteParty: '<sip:r>;tag=r',
    routeSet: [],
    localCseq: 1,
    remoteTarget: '',
    localContact: '',
  };
  const invite: IncomingInvite = {
    sipCallId: `${sessionId}@peer`,
    sourceAddress: '127.0.0.1',
    sdpOffer: SDP_OFFER,
    isOverTls: false,
    ring: () => seen.push('180'),
    answer: async (sdp) => {
      seen.push('200');
      return {
        facts: { ...facts, localSdp: sdp, remoteSdp: SDP_OFFER },
        listen: () => undefined,
        hangUp: async () => void seen.push('BYE'),
        leave: () => void seen.push('left'),
        refer: () => undefined,
        takesInfo: false,
        sendInfo: async () => 0,
      };
    },
    refuse: (status) => seen.push(String(status)),
    onCancel: (listener) => {
      cancel = listener;
    },
  };
  return { seen, take: () => bench.receiveInvite(invite), cancel: () => cancel() };
}

describe('the phone calls of a worker', () => {
  it('ring while the plan is in transit, are answered when it arrives, and report the dialog', async () => {
    await bench.start();
    const placement = await bench.dispatch.place(bench.offer('s1', 'phone'));
    const invite = inviteOf(bench, 's1');
    invite.take();
    await until(() => expect(invite.seen).toEqual(['180']));
    bench.dispatch.assign(placement, bench.session('s1'), bench.planOf('s1'));
    await until(() => expect(bench.types('s1')).toContain('dialog'));
    expect(invite.seen).toEqual(['180', '200']);
    bench.dispatch.end('w', bench.session('s1'), 'user_hangup');
    await until(() => expect(bench.types('s1').at(-1)).toBe('ended'));
    expect(invite.seen).toEqual(['180', '200', 'BYE']);
  });

  it('accept the plan before the INVITE', async () => {
    await bench.start();
    bench.dispatch.assign(
      await bench.dispatch.place(bench.offer('s1', 'phone')),
      bench.session('s1'),
      bench.planOf('s1'),
    );
    await bench.dispatch.place(bench.offer('s2'));
    const invite = inviteOf(bench, 's1');
    invite.take();
    await until(() => expect(invite.seen).toEqual(['180', '200']));
  });

  it('do not accept a second INVITE with the Call-ID of a running call', async () => {
    await bench.start();
    bench.dispatch.assign(
      await bench.dispatch.place(bench.offer('s1', 'phone')),
      bench.session('s1'),
      bench.planOf('s1'),
    );
    await bench.dispatch.place(bench.offer('s2'));
    const [first, second] = [inviteOf(bench, 's1'), inviteOf(bench, 's1')];
    first.take();
    second.take();
    await until(() => expect(first.seen).toEqual(['180', '200']));
    expect(second.seen).toEqual(['503']);
    expect(bench.media.legs).toHaveLength(1);
  });

  it('release the slot when the caller gives up during ringing', async () => {
    await bench.start({ capacity: 1 });
    await bench.dispatch.place(bench.offer('s1', 'phone'));
    const invite = inviteOf(bench, 's1');
    invite.take();
    await until(() => expect(invite.seen).toEqual(['180']));
    invite.cancel();
    await until(() =>
      expect(bench.reports('s1')).toEqual([
        expect.objectContaining({ type: 'ended', end_reason: 'cancelled' }),
      ]),
    );
    await bench.dispatch.place(bench.offer('s2'));
  });

  it('are rejected when their engines cannot be created, and reported once as our failure', async () => {
    await bench.start({ capacity: 1 });
    bench.brokenEngines = true;
    const placement = await bench.dispatch.place(bench.offer('s1', 'phone'));
    const invite = inviteOf(bench, 's1');
    invite.take();
    bench.dispatch.assign(placement, bench.session('s1'), bench.planOf('s1'));
    await until(() =>
      expect(bench.reports('s1')).toEqual([
        expect.objectContaining({ type: 'ended', end_reason: 'internal_error' }),
      ]),
    );
    expect(invite.seen).toEqual(['180', '480']);
    await bench.dispatch.place(bench.offer('s2'));
    expect(bench.types('s1')).toEqual(['ended']);
  });

  /** A call that the worker has answered. */
  async function answeredCall(id: string) {
    const placement = await bench.dispatch.place(bench.offer(id, 'phone'));
    const invite = inviteOf(bench, id);
    invite.take();
    bench.dispatch.assign(placement, bench.session(id), bench.planOf(id));
    await until(() => expect(bench.types(id)).toContain('joined'));
    return invite;
  }

  it('are offered to other workers in a drain, and left without a BYE once one has taken them', async () => {
    await bench.start({ drainMs: 60_000 });
    const invite = await answeredCall('s1');
    const drained = bench.worker.drain();
    await until(() => expect(bench.events).toContain('hand over s1:1 of w {}'));
    bench.dispatch.abandon('w', bench.session('s1'));
    // Reports that were under way are answered with another one.
    bench.dispatch.abandon('w', bench.session('s1'));
    await drained;
    expect(invite.seen).toEqual(['180', '200', 'left']);
    expect(bench.types('s1')).not.toContain('ended');
  });

  it('are left by the time that a draining worker confirms it', async () => {
    await bench.start({ drainMs: 60_000 });
    const invite = await answeredCall('s1');
    await bench.dispatch.leave('w', bench.session('s1'));
    expect(invite.seen).toEqual(['180', '200', 'left']);
  });

  it('give their stream up to the next worker once they are left', async () => {
    await bench.start({ drainMs: 60_000 });
    await answeredCall('s1');
    const drained = bench.worker.drain();
    await until(() => expect(bench.events).toContain('hand over s1:1 of w {}'));
    await bench.dispatch.leave('w', bench.session('s1'), true);
    const released = bench.dispatch.releaseStream('w', bench.session('s1'));
    const [leg] = bench.media.legs;
    await until(() => expect(leg?.commands.at(-1)).toEqual({ do: 'releaseStream' }));
    const atMs = systemClock.now();
    const numbers = { ssrc: 1, cname: 'c', sequence: 2, timestamp: 3, packets: 4, bytes: 5 };
    leg?.emit({
      type: 'stream.released',
      atMs,
      rest: { ...numbers, clockHz: 8_000, dueMs: atMs + 5_000 },
    });
    const stream = await released;
    expect(stream).toMatchObject({ ...numbers, clock_hz: 8_000 });
    expect(stream?.due_in_ms).toBeGreaterThan(0);
    expect(stream?.due_in_ms).toBeLessThanOrEqual(5_000);
    await drained;
  });

  it('are silent at the phone for longer if the next worker will ask for their stream', async () => {
    await bench.start({ drainMs: 60_000 });
    await answeredCall('s1');
    await answeredCall('s2');
    const drained = bench.worker.drain();
    for (const id of ['s1', 's2'])
      await until(() => expect(bench.events).toContain(`hand over ${id}:1 of w {}`));
    await bench.dispatch.leave('w', bench.session('s1'), true);
    await bench.dispatch.leave('w', bench.session('s2'));
    const [first, second] = bench.media.legs;
    await until(() => expect(second?.isClosed).toBe(true));
    expect(first?.isClosed).toBe(false);
    await drained;
    expect(first?.isClosed).toBe(true);
  });

  it('have no stream to give up once their leg is closed, or if they are not here', async () => {
    await bench.start();
    await answeredCall('s1');
    bench.dispatch.abandon('w', bench.session('s1'));
    for (const id of ['s1', 'elsewhere'])
      expect(await bench.dispatch.releaseStream('w', bench.session(id))).toBeNull();
  });

  it('are left without a BYE or a report when another worker has taken the session', async () => {
    await bench.start({ capacity: 1 });
    const placement = await bench.dispatch.place(bench.offer('s1', 'phone'));
    const invite = inviteOf(bench, 's1');
    invite.take();
    bench.dispatch.assign(placement, bench.session('s1'), bench.planOf('s1'));
    await until(() => expect(bench.types('s1')).toContain('dialog'));
    const before = bench.types('s1');
    bench.dispatch.abandon('w', bench.session('s1'));
    await until(() => expect(invite.seen).toEqual(['180', '200', 'left']));
    // Its slot is free, and the leg is closed.
    await bench.dispatch.place(bench.offer('s2'));
    await bench.worker.drain();
    expect(invite.seen).toEqual(['180', '200', 'left']);
    expect(bench.types('s1')).toEqual(before);
  });

  it('are not accepted while the worker has no connection to signalling', async () => {
    await bench.start();
    bench.hasSignalling = false;
    await expect(bench.dispatch.place(bench.offer('s1', 'phone'))).rejects.toMatchObject({
      code: 'no_capacity',
    });
    expect((await bench.dispatch.place(bench.offer('s2'))).instanceId).toBe('w');
  });
});
