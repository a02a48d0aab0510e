/** A worker on a real link to a hub, with silent media and engines that fail on demand. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { type Clock, systemClock } from '#base/clock.ts';
import { createEgressGuard } from '#base/egress.ts';
import { createLogger } from '#base/log.ts';
import { serveWorkerLink } from '#control-plane/calls/workers/worker-link-server.ts';
import type { Leg } from '#media/leg/leg.ts';
import { type SpeechChunk, SpeechError } from '#media/speech/speech.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { McpTokens } from '#protocol/mcp-tokens.ts';
import type { Upload } from '#protocol/uploads.ts';
import type { DurableReport, JobKind } from '#protocol/worker-link.ts';
import { openSpool, type Spool } from '#runtime/link/spool.ts';
import { createUploadSender } from '#runtime/link/upload-sender.ts';
import { createUploads, type Uploads } from '#runtime/link/uploads.ts';
import { Worker } from '#runtime/worker/worker.ts';
import { createWorkerMetrics } from '#runtime/worker/worker-metrics.ts';
import type { IncomingInvite, Signalling } from '#telephony/signalling.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';
import { MemorySink } from '../../fakes/memory-sink.ts';
import { SilentMedia } from '../../fakes/silent-media.ts';
import { createTestHub, type TestHub } from '../../fakes/test-hub.ts';
import { testPlan, WEB } from '../test-plan.ts';

const TOKEN = 'a-token-of-the-workers';
/** Its control plane has no bucket. */
const NO_OBJECTS = {
  send: () => undefined,
  waiting: () => ({ items: [], bytes: 0 }),
  flushed: async () => undefined,
};
/** Nor does it hold anything. */
const NOTHING_KEPT = { keep: async () => true, release: () => undefined, giveUp: () => undefined };
const logger = createLogger({ level: 'silent', name: 'test' });

/** Media that also answers browsers, with the same silent legs. */
class Media extends SilentMedia {
  override async openWebrtcLeg(): Promise<never> {
    const { leg } = await this.openRtpLeg({ remote: null });
    return { leg: { ...leg, kind: 'webrtc' } as Leg, answerSdp: 'answer' } as never;
  }
}

/** Opens a hub; `start` connects the worker to it. */
export async function openTestWorker(): Promise<TestWorker> {
  // Accepts and discards recordings and flight logs.
  const server = createServer((request, response) =>
    request.resume().on('end', () => response.writeHead(204).end()),
  );
  const bench = new TestWorker(server, await mkdtemp(join(tmpdir(), 'parley-worker-')));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return bench;
}

/** Waits until the check passes. */
export function until(check: () => void): Promise<void> {
  return vi.waitFor(check, { timeout: 5_000 });
}

/** The worker `w`, its hub, and what it has reported. */
export class TestWorker {
  worker!: Worker;
  media!: Media;
  spool!: Spool;
  uploads!: Uploads;
  readonly metrics = createWorkerMetrics();
  hasSignalling = true;
  brokenEngines = false;
  /** Speech models that the control plane has announced. */
  readonly speechModels: string[] = [];
  /** The control plane has said that web calls are in LiveKit rooms. */
  isToldOfRooms = false;
  /** Delay that the event loop of the worker reports. */
  loopLagMs = 0;
  /** Number of jobs for which the worker has its event loop measured. */
  measuredJobs = 0;
  receiveInvite!: (invite: IncomingInvite) => void;
  readonly #server: Server;
  readonly #directory: string;
  readonly #sink = new MemorySink();
  readonly #hub: TestHub = createTestHub({ clock: systemClock, logger, sink: this.#sink, hasRooms: true });
  readonly #connections = new Set<Socket>();
  readonly #closeLink: () => Promise<void>;

  constructor(server: Server, directory: string) {
    this.#server = server;
    this.#directory = directory;
    server.on('connection', (socket) => this.#connections.add(socket));
    this.#closeLink = serveWorkerLink(server, this.#hub.hub, TOKEN).close;
  }

  /** Speech of the agent; it fails unless the test replaces it. */
  voice: () => AsyncIterable<SpeechChunk> = async function* () {
    yield* [];
    throw new SpeechError('connectivity', 'no voice');
  };

  get dispatch(): TestHub['dispatch'] {
    return this.#hub.dispatch;
  }

  async start({
    capacity = 2,
    drainMs = 0,
    clock = systemClock,
    signalling = this.#signalling(),
    kinds = ['phone', 'web', 'analysis'],
  }: {
    capacity?: number;
    drainMs?: number;
    clock?: Clock;
    signalling?: Signalling;
    kinds?: readonly JobKind[];
  } = {}): Promise<void> {
    const url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    this.media = new Media(clock);
    this.spool = await openSpool(this.#directory, 'w');
    const sender = createUploadSender({ url, token: TOKEN, clock, logger });
    const packer = { pack: async ({ bytes }: Upload<object>) => bytes };
    const parts = { clock, logger, onLost: () => undefined, sender, packer };
    this.uploads = createUploads({ ...parts, objects: NO_OBJECTS, kept: NOTHING_KEPT });
    this.worker = new Worker({
      identity: {
        instanceId: 'w',
        supervisorRun: null,
        kinds,
        sipTag: 'w',
        capacity: capacity,
      },
      controlPlaneUrl: url,
      token: TOKEN,
      clock,
      logger,
      random: () => 0.5,
      spool: this.spool,
      adopted: new Map(),
      uploads: this.uploads,
      interruptions: this.metrics.interruptions,
      media: this.media,
      tracing: null,
      onSpeechModels: (models) => this.speechModels.push(...models),
      onRooms: () => {
        this.isToldOfRooms = true;
      },
      drainMs: drainMs,
      loopLagMs: (jobs) => {
        this.measuredJobs = jobs;
        return this.loopLagMs;
      },
      engines: {
        serverTokens: new McpTokens(clock),
        forCall: () => {
          if (this.brokenEngines) throw new Error('the plan names a missing engine');
          return {
            recognizer: null,
            synthesizer: { id: 'hoarse', voices: [], synthesise: () => this.voice() },
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
        knowledgeFor: () => null,
        modelFor: () => {
          throw new Error('the model is unavailable');
        },
        modelAlone: () => {
          throw new Error('the model is unavailable');
        },
      },
      egress: createEgressGuard({ allow: [], clock }),
      phone: {
        signalling,
        clock: systemClock,
        logger,
        media: this.media,
        sipHost: '127.0.0.1',
        sipPublicIp: undefined,
        random: () => 0.5,
      },
    });
    await vi.waitFor(() => expect(this.dispatch.hasWorker()).toBe(true));
  }

  /** Brings the INVITEs that the test makes up. */
  #signalling(): Signalling {
    const isConnected = () => this.hasSignalling;
    const signalling: Pick<Signalling, 'isConnected' | 'onInvite' | 'onRegister'> = {
      get isConnected() {
        return isConnected();
      },
      onRegister: () => undefined,
      onInvite: (listener) => {
        this.receiveInvite = listener;
      },
    };
    return signalling as Signalling;
  }

  session(sessionId: string) {
    return { sessionId, epoch: 1 };
  }

  offer(sessionId: string, kind: JobKind = 'web') {
    return {
      ...this.session(sessionId),
      kind,
      sipCallId: kind === 'phone' ? `${sessionId}@peer` : null,
    };
  }

  planOf(sessionId: string): CallPlan {
    return testPlan(
      { conversation: { hangup_after_seconds: 600 }, prompt: { first_message_mode: 'off' } },
      { ...WEB, session_id: sessionId },
    );
  }

  reports(sessionId: string): DurableReport[] {
    return this.#sink.stored
      .filter((envelope) => envelope.session_id === sessionId)
      .map((envelope) => envelope.report);
  }

  /** What else the control plane was told, in order. */
  get events(): readonly string[] {
    return this.#sink.events;
  }

  types(sessionId: string): string[] {
    return this.reports(sessionId).map((report) => report.type);
  }

  /**
   * Three late heartbeats in a row, with calls to protect; a single one may be a busy moment of the machine.
   */
  async makeLate(clock: ManualClock, lagMs = 500): Promise<void> {
    this.loopLagMs = lagMs;
    await clock.advance(3_000);
    await until(() => expect(this.#hub.workers.describe()).toMatchObject([{ freeSlots: 0 }]));
  }

  /** Starts the worker with one job and a late event loop. */
  async startLate({
    capacity,
    lagMs,
  }: {
    readonly capacity: number;
    readonly lagMs?: number;
  }): Promise<ManualClock> {
    const clock = new ManualClock();
    await this.start({ capacity, clock });
    await this.dispatch.place(this.offer('s1'));
    await this.makeLate(clock, lagMs);
    return clock;
  }

  async startWebCall(sessionId: string): Promise<void> {
    const placement = await this.dispatch.place(this.offer(sessionId));
    this.dispatch.assign(placement, this.session(sessionId), this.planOf(sessionId));
    expect(await this.dispatch.offerWebrtc('w', this.session(sessionId), 'offer')).toEqual({ sdp: 'answer' });
    this.media.legs.at(-1)?.emit({ type: 'connected', atMs: systemClock.now() });
    await until(() => expect(this.types(sessionId)).toContain('joined'));
  }

  /** Cuts every connection to the control plane, and accepts no new one. */
  loseControlPlane(): void {
    this.#server.close();
    for (const socket of this.#connections) socket.destroy();
    this.#connections.clear();
  }

  async close(): Promise<void> {
    await this.#closeLink();
    this.#server.close();
    await this.worker.close();
    await rm(this.#directory, { recursive: true, force: true });
  }
}
