import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Clock, systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { createLogger } from '#base/log.ts';
import { serveWorkerLink } from '#control-plane/calls/workers/worker-link-server.ts';
import type { Leg } from '#media/leg/leg.ts';
import { type SpeechChunk, SpeechError } from '#media/speech/speech.ts';
import type { DurableReport } from '#protocol/worker-link.ts';
import { openSpool, type Spool } from '#runtime/link/spool.ts';
import { createUploads } from '#runtime/link/uploads.ts';
import { Worker } from '#runtime/worker/worker.ts';
import type { IncomingInvite, Signalling } from '#telephony/signalling.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';
import { MemorySink } from '../../fakes/memory-sink.ts';
import { SilentMedia } from '../../fakes/silent-media.ts';
import { createTestHub, type TestHub } from '../../fakes/test-hub.ts';
import { simulateCall } from '../../simulation/simulate-call.ts';
import { testPlan, WEB } from '../test-plan.ts';

const TOKEN = 'a-token-of-the-workers';
const logger = createLogger({ level: 'silent', name: 'test' });
const SDP_OFFER = [
  'v=0',
  'o=- 1 1 IN IP4 127.0.0.1',
  's=-',
  'c=IN IP4 127.0.0.1',
  't=0 0',
  'm=audio 40000 RTP/AVP 0',
  '',
].join('\r\n');

/** Media that also answers browsers, with the same silent legs. */
class Media extends SilentMedia {
  override async openWebrtcLeg(): Promise<never> {
    const { leg } = await this.openRtpLeg({ remote: null });
    return { leg: { ...leg, kind: 'webrtc' } as Leg, answerSdp: 'answer' } as never;
  }
}

describe('a worker', () => {
  let server: Server;
  let testHub: TestHub;
  let sink: MemorySink;
  let media: Media;
  let worker: Worker;
  let spool: Spool;
  let directory: string;
  let closeLink: () => Promise<void>;
  let hasSignalling: boolean;
  let receiveInvite: (invite: IncomingInvite) => void;
  let brokenEngines: boolean;
  let loopLagMs: number;
  let voice: () => AsyncIterable<SpeechChunk>;
  const connections = new Set<Socket>();

  beforeEach(async () => {
    sink = new MemorySink();
    testHub = createTestHub({ clock: systemClock, logger, sink });
    // Accepts and discards recordings and flight logs.
    server = createServer((request, response) =>
      request.resume().on('end', () => response.writeHead(204).end()),
    );
    server.on('connection', (socket) => connections.add(socket));
    closeLink = serveWorkerLink(server, testHub.hub, TOKEN).close;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    directory = await mkdtemp(join(tmpdir(), 'parley-worker-'));
    hasSignalling = true;
    brokenEngines = false;
    loopLagMs = 0;
    voice = async function* () {
      yield* [];
      throw new SpeechError('connectivity', 'no voice');
    };
  });

  afterEach(async () => {
    await closeLink();
    server.close();
    await worker.close();
    await rm(directory, { recursive: true, force: true });
  });

  async function start(options: { capacity?: number; drainMs?: number; clock?: Clock } = {}): Promise<void> {
    const clock = options.clock ?? systemClock;
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    media = new Media(clock);
    spool = await openSpool(directory, 'w');
    const signalling: Pick<Signalling, 'isConnected' | 'onInvite'> = {
      get isConnected() {
        return hasSignalling;
      },
      onInvite: (listener) => {
        receiveInvite = listener;
      },
    };
    worker = new Worker({
      identity: {
        instanceId: 'w',
        supervisorRun: null,
        kinds: ['phone', 'web', 'analysis'],
        sipTag: 'w',
        capacity: options.capacity ?? 2,
      },
      controlPlaneUrl: url,
      token: TOKEN,
      clock,
      logger,
      random: () => 0.5,
      spool,
      adopted: new Map(),
      uploads: createUploads({ url, token: TOKEN, clock, logger }),
      media,
      tracing: null,
      drainMs: options.drainMs ?? 0,
      loopLagMs: () => loopLagMs,
      engines: {
        forCall: () => {
          if (brokenEngines) throw new Error('this plan names an engine that is not here');
          return {
            recognizer: null,
            synthesizer: { id: 'hoarse', voices: [], synthesise: () => voice() },
            model: { id: 'test/model', isCustom: false, stream: async function* () {} },
            createTools: () => ({
              runner: {
                definitions: [],
                traits: () => null,
                run: () => Promise.reject(new Error('none')),
                close() {},
              },
              settle: null,
            }),
            knowledge: null,
          };
        },
        modelFor: () => {
          throw new Error('the model is away');
        },
      },
      egress: createEgressGuard({ allow: [], clock }),
      phone: {
        signalling: signalling as Signalling,
        clock: systemClock,
        logger,
        media,
        sipHost: '127.0.0.1',
        sipPublicIp: undefined,
        random: () => 0.5,
      },
    });
    await vi.waitFor(() => expect(testHub.dispatch.hasWorker()).toBe(true));
  }

  const session = (sessionId: string) => ({ sessionId, epoch: 1 });
  const offer = (sessionId: string, kind: 'web' | 'phone' | 'analysis' = 'web') => ({
    ...session(sessionId),
    kind,
    sipCallId: kind === 'phone' ? `${sessionId}@peer` : null,
  });
  const planOf = (sessionId: string) =>
    testPlan(
      { conversation: { hangup_after_seconds: 600 }, prompt: { first_message_mode: 'off' } },
      { ...WEB, session_id: sessionId },
    );
  const reports = (sessionId: string): DurableReport[] =>
    sink.stored.filter((envelope) => envelope.session_id === sessionId).map((envelope) => envelope.report);
  const types = (sessionId: string) => reports(sessionId).map((report) => report.type);
  const until = (check: () => void) => vi.waitFor(check, { timeout: 5_000 });

  /**
   * Three late heartbeats in a row, with calls to protect; a single one may be a busy moment of the machine.
   */
  async function makeLate(clock: ManualClock, lagMs = 500): Promise<void> {
    loopLagMs = lagMs;
    await clock.advance(3_000);
    await until(() => expect(testHub.workers.describe()).toMatchObject([{ freeSlots: 0 }]));
  }

  /** A worker with one job whose event loop is late. */
  async function startLate({
    capacity,
    lagMs,
  }: {
    readonly capacity: number;
    readonly lagMs?: number;
  }): Promise<ManualClock> {
    const clock = new ManualClock();
    await start({ capacity, clock });
    await testHub.dispatch.place(offer('s1'));
    await makeLate(clock, lagMs);
    return clock;
  }

  async function startWebCall(sessionId: string): Promise<void> {
    const placement = await testHub.dispatch.place(offer(sessionId));
    testHub.dispatch.assign(placement, session(sessionId), planOf(sessionId));
    expect(await testHub.dispatch.offerWebrtc('w', session(sessionId), 'offer')).toEqual({ sdp: 'answer' });
    media.legs.at(-1)?.emit({ type: 'connected', atMs: systemClock.now() });
    await until(() => expect(types(sessionId)).toContain('joined'));
  }

  it('declines calls beyond its capacity, and accepts the next one once a call has ended', async () => {
    await start({ capacity: 1 });
    await startWebCall('s1');
    await expect(testHub.dispatch.place(offer('s2'))).rejects.toMatchObject({ code: 'no_capacity' });
    testHub.dispatch.end('w', session('s1'), 'user_hangup');
    await until(() =>
      expect(reports('s1').at(-1)).toMatchObject({ type: 'ended', end_reason: 'user_hangup' }),
    );
    expect(media.open).toBe(0);
    // Accepted at once: the value in its last heartbeat does not count.
    await startWebCall('s3');
  });

  /**
   * Resolves when the worker has processed everything sent to it before: this request follows on the same
   * link.
   */
  const seen = () => expect(testHub.dispatch.offerWebrtc('w', session('nobody'), 'offer')).rejects.toThrow();

  it('accepts offers one by one, at a limited rate, while its event loop is late', async () => {
    const clock = await startLate({ capacity: 4 });
    const placed: string[] = [];
    const place = (sessionId: string) =>
      testHub.dispatch.place(offer(sessionId)).then(() => placed.push(sessionId));
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
    const clock = await startLate({ capacity: 4, lagMs: 1_500 });
    const placed: string[] = [];
    const all = ['s2', 's3'].map((sessionId) =>
      testHub.dispatch.place(offer(sessionId)).then(() => placed.push(sessionId)),
    );
    await seen();
    await clock.advance(900);
    await seen();
    expect(placed).toEqual([]);
    loopLagMs = 0;
    await clock.advance(100);
    await Promise.all(all);
    expect(placed).toEqual(['s2', 's3']);
  });

  it('delays an analysis until the event loop is on time again, and lets calls go first', async () => {
    const clock = await startLate({ capacity: 4 });
    const placed: string[] = [];
    const all = [
      testHub.dispatch.place(offer('s2', 'analysis')).then(() => placed.push('s2')),
      testHub.dispatch.place(offer('s3')).then(() => placed.push('s3')),
    ];
    await seen();
    await clock.advance(500);
    await seen();
    expect(placed).toEqual(['s3']);
    loopLagMs = 0;
    await clock.advance(1_000);
    await Promise.all(all);
  });

  it('uses no slot for an offer withdrawn while it waited for the event loop', async () => {
    const clock = await startLate({ capacity: 2 });
    // Refused when the control plane's wait times out, or its link closes.
    testHub.dispatch.place(offer('s2')).catch(() => undefined);
    testHub.dispatch.withdraw({ instanceId: 'w', supervisorRun: null, sipTag: null }, session('s2'));
    await seen();
    loopLagMs = 0;
    await clock.advance(1_000);
    expect((await testHub.dispatch.place(offer('s3'))).instanceId).toBe('w');
  });

  it('accepts the next call however late its event loop is, if it has no call to protect', async () => {
    const clock = new ManualClock();
    await start({ capacity: 2, clock });
    const placement = await testHub.dispatch.place(offer('s1'));
    await makeLate(clock);
    testHub.dispatch.withdraw(placement, session('s1'));
    expect((await testHub.dispatch.place(offer('s2'))).instanceId).toBe('w');
  });

  it('ends only the session of a plan without an available engine', async () => {
    await start({ capacity: 1 });
    brokenEngines = true;
    testHub.dispatch.assign(await testHub.dispatch.place(offer('s1')), session('s1'), planOf('s1'));
    await until(() =>
      expect(reports('s1')).toEqual([
        expect.objectContaining({ type: 'ended', end_reason: 'internal_error' }),
      ]),
    );
    brokenEngines = false;
    await startWebCall('s2');
  });

  it('reports a failed analysis as failed, and releases its slot', async () => {
    await start({ capacity: 1 });
    const placement = await testHub.dispatch.place(offer('s1', 'analysis'));
    testHub.dispatch.assignAnalysis(placement, session('s1'), {
      job_id: 'j1',
      plan: planOf('s1'),
      items: [],
    });
    await until(() =>
      expect(reports('s1')).toEqual([expect.objectContaining({ type: 'analysis', job_id: 'j1' })]),
    );
    expect(reports('s1')[0]).toMatchObject({ result: { status: 'error', error: 'the model is away' } });
    await testHub.dispatch.place(offer('s2'));
  });

  it('answers a browser offer for an unknown session at once', async () => {
    await start();
    await expect(testHub.dispatch.offerWebrtc('w', session('nobody'), 'offer')).rejects.toMatchObject({
      code: 'gateway_unreachable',
    });
  });

  it('ends live calls at the time limit of a drain, and releases jobs that never got a plan', async () => {
    await start({ drainMs: 100 });
    await startWebCall('s1');
    await testHub.dispatch.place(offer('s2'));
    await worker.drain();
    expect(reports('s1').at(-1)).toMatchObject({ type: 'ended', end_reason: 'internal_error' });
    expect(types('s2')).toEqual([]);
    expect(spool.waiting()).toEqual([]);
    await expect(testHub.dispatch.place(offer('s3'))).rejects.toMatchObject({ code: 'no_capacity' });
  });

  it('does not wait in a drain for a goodbye that is never played', async () => {
    const clock = new ManualClock();
    voice = async function* () {
      yield* [];
      await new Promise(() => undefined);
    };
    await start({ drainMs: 5_000, clock });
    await startWebCall('s1');
    const drained = worker.drain();
    await clock.advance(4_900);
    expect(types('s1')).not.toContain('ended');
    await clock.advance(8_000);
    await drained;
    expect(reports('s1').at(-1)).toMatchObject({ type: 'ended', end_reason: 'internal_error' });
  });

  it('does not wait in a drain for a withdrawn job', async () => {
    await start({ drainMs: 60_000 });
    const placement = await testHub.dispatch.place(offer('s1'));
    const drained = worker.drain();
    testHub.dispatch.withdraw(placement, session('s1'));
    await drained;
  });

  it('continues its calls without the control plane, and ends them after two minutes of isolation', async () => {
    const clock = new ManualClock();
    await start({ clock });
    await startWebCall('s1');
    server.close();
    for (const socket of connections) socket.destroy();
    connections.clear();
    const isEnded = () => spool.waiting().some((envelope) => envelope.report.type === 'ended');
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
    expect(media.open).toBe(0);
  });

  describe('phone calls', () => {
    /** An INVITE as delivered by signalling. */
    function inviteOf(sessionId: string) {
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
            refer: () => undefined,
          };
        },
        refuse: (status) => seen.push(String(status)),
        onCancel: (listener) => {
          cancel = listener;
        },
      };
      return { seen, take: () => receiveInvite(invite), cancel: () => cancel() };
    }

    it('ring while the plan is in transit, are answered when it arrives, and report the dialog', async () => {
      await start();
      const placement = await testHub.dispatch.place(offer('s1', 'phone'));
      const invite = inviteOf('s1');
      invite.take();
      await until(() => expect(invite.seen).toEqual(['180']));
      testHub.dispatch.assign(placement, session('s1'), planOf('s1'));
      await until(() => expect(types('s1')).toContain('dialog'));
      expect(invite.seen).toEqual(['180', '200']);
      testHub.dispatch.end('w', session('s1'), 'user_hangup');
      await until(() => expect(types('s1').at(-1)).toBe('ended'));
      expect(invite.seen).toEqual(['180', '200', 'BYE']);
    });

    it('accept the plan before the INVITE', async () => {
      await start();
      testHub.dispatch.assign(
        await testHub.dispatch.place(offer('s1', 'phone')),
        session('s1'),
        planOf('s1'),
      );
      await testHub.dispatch.place(offer('s2'));
      const invite = inviteOf('s1');
      invite.take();
      await until(() => expect(invite.seen).toEqual(['180', '200']));
    });

    it('do not accept a second INVITE with the Call-ID of a running call', async () => {
      await start();
      testHub.dispatch.assign(
        await testHub.dispatch.place(offer('s1', 'phone')),
        session('s1'),
        planOf('s1'),
      );
      await testHub.dispatch.place(offer('s2'));
      const [first, second] = [inviteOf('s1'), inviteOf('s1')];
      first.take();
      second.take();
      await until(() => expect(first.seen).toEqual(['180', '200']));
      expect(second.seen).toEqual(['503']);
      expect(media.legs).toHaveLength(1);
    });

    it('release the slot when the caller gives up during ringing', async () => {
      await start({ capacity: 1 });
      await testHub.dispatch.place(offer('s1', 'phone'));
      const invite = inviteOf('s1');
      invite.take();
      await until(() => expect(invite.seen).toEqual(['180']));
      invite.cancel();
      await until(() =>
        expect(reports('s1')).toEqual([expect.objectContaining({ type: 'ended', end_reason: 'cancelled' })]),
      );
      await testHub.dispatch.place(offer('s2'));
    });

    it('are rejected when their engines cannot be created, and reported once as our failure', async () => {
      await start({ capacity: 1 });
      brokenEngines = true;
      const placement = await testHub.dispatch.place(offer('s1', 'phone'));
      const invite = inviteOf('s1');
      invite.take();
      testHub.dispatch.assign(placement, session('s1'), planOf('s1'));
      await until(() =>
        expect(reports('s1')).toEqual([
          expect.objectContaining({ type: 'ended', end_reason: 'internal_error' }),
        ]),
      );
      expect(invite.seen).toEqual(['180', '480']);
      await testHub.dispatch.place(offer('s2'));
      expect(types('s1')).toEqual(['ended']);
    });

    it('are not accepted while the worker has no connection to signalling', async () => {
      await start();
      hasSignalling = false;
      await expect(testHub.dispatch.place(offer('s1', 'phone'))).rejects.toMatchObject({
        code: 'no_capacity',
      });
      expect((await testHub.dispatch.place(offer('s2'))).instanceId).toBe('w');
    });
  });

  describe('a finished call', () => {
    // A separate thread reloads the turn machine, which takes seconds on a busy machine.
    const patience = { timeout: 60_000 };
    const logOf = async (seed: number) => Buffer.concat([...(await simulateCall(seed)).flightLog]).toString();

    it(
      'is rerun with other settings, and the point of divergence is reported in wall time',
      patience,
      async () => {
        await start();
        const log = await logOf(1);
        expect(await testHub.dispatch.replay(log, {})).toEqual({ divergence: null });
        const { divergence } = await testHub.dispatch.replay(log, { hangup_after_seconds: 10 });
        const began = Date.parse(JSON.parse(log.slice(0, log.indexOf('\n'))).wall_time);
        expect(Date.parse(divergence?.was?.at ?? divergence?.would_be?.at ?? '')).toBeGreaterThan(began);
        expect(divergence?.judged).toBeGreaterThan(0);
        expect(divergence?.judged).toBeLessThan(1);
      },
    );

    it('is rejected if its log has another version or is not a log', patience, async () => {
      await start();
      const log = await logOf(1);
      const older = log.replace(/"machine_version":\d+/, '"machine_version":0');
      await expect(testHub.dispatch.replay(older, {})).rejects.toMatchObject({ code: 'not_replayable' });
      await expect(testHub.dispatch.replay('torn', {})).rejects.toMatchObject({ code: 'not_replayable' });
    });

    it('does not wait when there is no worker', async () => {
      await expect(testHub.dispatch.replay(await logOf(1), {})).rejects.toMatchObject({
        code: 'no_capacity',
      });
      await start();
    });
  });
});
