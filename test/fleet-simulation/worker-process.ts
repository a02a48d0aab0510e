/**
 * A worker of the fleet: the product's link, spool, offers and slots, with calls from a script instead of the
 * turn loop and its media.
 */

import type { WebSocket } from 'ws';
import type { Logger } from '#base/log.ts';
import type { EndReason } from '#protocol/session-record.ts';
import type { ControlMessage, DurableReport, FailoverState } from '#protocol/worker-link.ts';
import type { Call } from '#runtime/calls/call.ts';
import { type ControlPlaneClient, connectControlPlane } from '#runtime/link/control-plane-client.ts';
import { SpeakingLease } from '#runtime/link/speaking-lease.ts';
import type { Spool } from '#runtime/link/spool.ts';
import { startHandOver } from '#runtime/worker/hand-over.ts';
import { type Job, JobTable } from '#runtime/worker/job-table.ts';
import { Offers } from '#runtime/worker/offers.ts';
import type { WorkerWatch } from '#telephony/drachtio/worker-probe.ts';
import type { Random } from '../simulation/random.ts';
import { type CallScript, dialogOf, ScriptedCall } from './scripted-call.ts';
import { SignallingLinks } from './signalling-links.ts';
import type { AppSocket } from './signalling-process.ts';
import type { VirtualProcess } from './virtual-process.ts';

/** As of the product's worker. */
const ALONE_MS = 120_000;
const DRAIN_MS = 20_000;
const FLUSH_MS = 3_000;
/** It loads for so long what web calls need. */
const WEB_READY_AFTER_MS = 3_000;

/** A worker that signalling does not watch. */
const UNWATCHED: WorkerWatch = {
  now: () => 0,
  asked: () => false,
  gone: () => undefined,
  hasItsCalls: async () => undefined,
};
const NO_COLLEAGUES = { participants: { isEmpty: true } };

/** The phones and browsers of the callers. */
export interface Callers {
  script(sessionId: string): CallScript;
  /**
   * A worker has answered the INVITE or the offer of a browser, or its re-INVITE is answered; false if nobody
   * is there.
   */
  connect(sessionId: string, worker: WorkerProcess, offer?: string): boolean;
  /** A worker hangs up. */
  hangUp(sessionId: string, worker: WorkerProcess): void;
}

/** Told what happens at a worker. */
export interface WorkerObserver {
  reported(worker: WorkerProcess, session: Job, report: DurableReport): void;
  acknowledged(message: Extract<ControlMessage, { type: 'ack' }>): void;
}

/** What a worker works with. */
export interface WorkerParts {
  readonly instanceId: string;
  readonly process: VirtualProcess;
  readonly random: Random;
  readonly logger: Logger;
  readonly spool: Spool;
  readonly adopted: ReadonlyMap<string, Spool>;
  readonly callers: Callers;
  readonly observer: WorkerObserver;
  readonly openSocket: (worker: WorkerProcess) => WebSocket;
  /** Whether a supervisor tells of its death: otherwise it speaks on a lease. */
  readonly isSupervised: boolean;
  /** Calls it takes at the same time. */
  readonly capacity: number;
  /** Names of the signalling servers. */
  readonly servers: readonly string[];
  readonly openSignalling: (server: string) => AppSocket;
}

/** A running worker. */
export class WorkerProcess {
  readonly instanceId: string;
  readonly process: VirtualProcess;
  readonly #parts: WorkerParts;
  readonly #jobs: JobTable;
  readonly #client: ControlPlaneClient;
  readonly #offers: Offers;
  readonly #calls = new Map<Job, ScriptedCall>();
  readonly #lease: SpeakingLease | undefined;
  readonly #links: SignallingLinks;
  /** Until then its media thread sends audio. */
  #speakUntilMs = Number.POSITIVE_INFINITY;
  #isDraining = false;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.instanceId = parts.instanceId;
    this.process = parts.process;
    const { process, logger, spool, adopted } = parts;
    const jobs = new JobTable(process);
    const webReadyMs = process.now() + WEB_READY_AFTER_MS;
    const onChange = (untilMs: number) => {
      this.#speakUntilMs = untilMs;
    };
    const lease = parts.isSupervised ? undefined : new SpeakingLease({ clock: process, logger, onChange });
    this.#lease = lease;
    this.#links = new SignallingLinks({
      clock: process,
      tag: parts.instanceId,
      watch: lease ?? UNWATCHED,
      servers: parts.servers,
      open: parts.openSignalling,
    });
    this.#jobs = jobs;
    this.#client = connectControlPlane({
      url: 'http://control-plane',
      token: '',
      clock: process,
      logger,
      spool,
      adopted,
      lease,
      facts: () => ({
        instanceId: parts.instanceId,
        supervisorRun: null,
        capacity: parts.capacity,
        codecs: ['PCMU'],
        sipTag: parts.instanceId,
        sipServers: this.#links.servers,
        isWebReady: process.now() >= webReadyMs,
        kinds: ['phone', 'web'],
        sessions: jobs.all().filter((job) => job.kind === 'phone' || job.call !== null),
      }),
      load: () => this.#offers.load(),
      onMessage: (message) => this.#receive(message),
      onAlone: (aloneMs) => {
        if (aloneMs > ALONE_MS) this.#endAll();
      },
      openSocket: () => parts.openSocket(this),
    });
    this.#offers = new Offers({
      identity: { kinds: ['phone', 'web'], capacity: parts.capacity },
      clock: process,
      jobs,
      client: this.#client,
      phone: { signalling: this.#links },
      loopLagMs: () => 0,
    });
  }

  get isConnected(): boolean {
    return this.#client.isConnected;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** It speaks on a lease: signalling notices its loss. */
  get isLeased(): boolean {
    return this.#lease !== undefined;
  }

  /** Its lease has lapsed: no caller hears it. */
  get isSilent(): boolean {
    return this.process.now() > this.#speakUntilMs;
  }

  /** Jobs that hold a slot. */
  get slots(): number {
    return this.#jobs.size;
  }

  /** Ids of the sessions of its jobs. */
  sessionIds(): string[] {
    return this.#jobs.all().map(({ sessionId }) => sessionId);
  }

  /** True while its agent and the caller hear each other. */
  isTalking(sessionId: string): boolean {
    for (const [job, call] of this.#calls) if (job.sessionId === sessionId && call.isTalking) return true;
    return false;
  }

  /** True while it believes that it has this call. */
  hasCall(sessionId: string): boolean {
    for (const [job, call] of this.#calls) if (job.sessionId === sessionId && !call.isOver) return true;
    return false;
  }

  /** The epoch under which it has this call; 0 if it has not. */
  epochOf(sessionId: string): number {
    return Math.max(
      0,
      ...[...this.#calls.keys()].map((job) => (job.sessionId === sessionId ? job.epoch : 0)),
    );
  }

  /** True while its agent may be heard in this call. */
  speaks(sessionId: string): boolean {
    return this.process.isRunning && !this.isSilent && this.hasCall(sessionId);
  }

  /** An INVITE has arrived; the caller waits for the answer. */
  invite(sipCallId: string, refused: () => void): void {
    const job = this.#jobs.takeSipCall(sipCallId);
    if (!job) {
      refused();
      return;
    }
    job.plan.then(
      () => {
        const call = this.#start(job, null);
        const { process, random, callers } = this.#parts;
        process.after(random.between(50, 400), () => {
          if (!callers.connect(job.sessionId, this)) call.end('cancelled');
          else this.#answered(job, call);
        });
      },
      () => {
        refused();
        this.#end(job, 'cancelled');
      },
    );
  }

  /** The caller has hung up. */
  callerLeft(sessionId: string): void {
    for (const [job, call] of this.#calls) if (job.sessionId === sessionId) call.end('user_hangup');
  }

  /** Declines offers, hands its calls over or waits for them, then stops. */
  async drain(): Promise<void> {
    const { process, logger } = this.#parts;
    this.#isDraining = true;
    this.#offers.drain();
    const handOver = startHandOver({
      clock: process,
      logger,
      client: this.#client,
      jobs: this.#jobs,
      drainMs: DRAIN_MS,
    });
    process.after(DRAIN_MS, () => {
      handOver.cancel();
      this.#endAll();
    });
    await Promise.race([this.#jobs.idle(), process.sleep(DRAIN_MS + FLUSH_MS)]);
    handOver.cancel();
    await this.#client.flushed(FLUSH_MS);
    this.#offers.close();
    this.#client.close();
    this.#links.close();
    this.#lease?.close();
    await this.#parts.spool.close();
  }

  #receive(message: ControlMessage): void {
    switch (message.type) {
      case 'offer':
        this.#offers.take(message);
        return;
      case 'assign': {
        const job = this.#jobs.assign(message.session_id, message.epoch, message.plan);
        if (job && !job.call) this.#assigned(job, message.handover);
        return;
      }
      case 'withdraw':
        this.#offers.drop(message.session_id, message.epoch);
        this.#jobs.withdraw(message.session_id, message.epoch);
        return;
      case 'stale':
        this.#drop(message.session_id, message.epoch);
        if (message.request_id !== undefined)
          this.#client.send({
            type: 'answer',
            request_id: message.request_id,
            result: { ok: true, value: {} },
          });
        return;
      case 'end': {
        const job = this.#jobs.get(message.session_id, message.epoch);
        const call = job && this.#calls.get(job);
        if (call) call.end(message.end_reason);
        else if (job) this.#end(job, message.end_reason);
        return;
      }
      case 'webrtc.offer':
        this.#connectBrowser(message);
        return;
      case 'ack':
        this.#parts.observer.acknowledged(message);
        return;
      default:
        return;
    }
  }

  #assigned(job: Job, handover: FailoverState | null): void {
    if (handover?.dialog) this.#takeOver(job, handover);
    else if (job.kind === 'web') this.#start(job, handover?.lost_at ?? null);
  }

  #takeOver(job: Job, handover: FailoverState): void {
    const { process, random, callers } = this.#parts;
    process.after(random.between(20, 300), () => {
      if (callers.connect(job.sessionId, this)) this.#answered(job, this.#start(job, handover.lost_at));
      else this.#end(job, 'user_hangup', handover.lost_at);
    });
  }

  #answered(job: Job, call: ScriptedCall): void {
    this.#report(job, { type: 'dialog', ...dialogOf(job, this.instanceId) });
    call.attach();
  }

  #start(job: Job, lostAt: string | null): ScriptedCall {
    const { process, random, callers } = this.#parts;
    const session = { session_id: job.sessionId, epoch: job.epoch };
    const host = {
      process,
      random,
      report: (report: DurableReport) => this.#report(job, report),
      live: (text: string, final: boolean) =>
        this.#client.send({
          type: 'live',
          ...session,
          event: { type: 'transcript', role: 'agent', text, final },
        }),
      onMove: (move: Job['move']) => {
        job.move = move;
      },
      onEnded: () => {
        callers.hangUp(job.sessionId, this);
        this.#calls.delete(job);
        this.#jobs.remove(job.sessionId, job.epoch);
      },
    };
    const call = new ScriptedCall(host, callers.script(job.sessionId), lostAt);
    this.#calls.set(job, call);
    job.call = NO_COLLEAGUES as unknown as Call;
    return call;
  }

  #connectBrowser(request: Extract<ControlMessage, { type: 'webrtc.offer' }>): void {
    const job = this.#jobs.get(request.session_id, request.epoch);
    const call = job && this.#calls.get(job);
    const isConnected = call && this.#parts.callers.connect(request.session_id, this, request.sdp);
    if (isConnected) call.attach();
    this.#client.send({
      type: 'answer',
      request_id: request.request_id,
      result: isConnected
        ? { ok: true, value: { sdp: 'answer' } }
        : { ok: false, code: 'not_found', message: 'no such call here' },
    });
  }

  #report(job: Job, report: DurableReport): void {
    this.#parts.observer.reported(this, job, report);
    this.#client.report({ sessionId: job.sessionId, epoch: job.epoch }, report);
  }

  /** Ends a job that is no call. */
  #end(job: Job, reason: EndReason, at = new Date(this.process.wallTime()).toISOString()): void {
    this.#report(job, { type: 'ended', at, end_reason: reason });
    this.#jobs.remove(job.sessionId, job.epoch);
  }

  #drop(sessionId: string, epoch: number): void {
    this.#offers.drop(sessionId, epoch);
    const job = this.#jobs.get(sessionId, epoch);
    if (job) {
      this.#calls.get(job)?.drop();
      this.#calls.delete(job);
    }
    this.#jobs.remove(sessionId, epoch);
  }

  #endAll(): void {
    for (const job of this.#jobs.all()) {
      const call = this.#calls.get(job);
      if (call) call.end('internal_error');
      else this.#jobs.remove(job.sessionId, job.epoch);
    }
  }
}
