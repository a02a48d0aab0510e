/**
 * A worker without media: the product's link, spool, offers and uploads, with calls from a script. Each call
 * reports and uploads what a phone call with recording does.
 */
import { randomUUID } from 'node:crypto';
import { systemClock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { AnalysisResult, SessionItem } from '#protocol/session-record.ts';
import {
  type ControlMessage,
  type DurableReport,
  HEARTBEAT_MS,
  type ReportedDialog,
} from '#protocol/worker-link.ts';
import { startLagMeter } from '#runtime/event-loop/loop-lag.ts';
import { type ControlPlaneClient, connectControlPlane } from '#runtime/link/control-plane-client.ts';
import { KeptPieces } from '#runtime/link/kept-pieces.ts';
import { ObjectSender } from '#runtime/link/object-sender.ts';
import type { Packer } from '#runtime/link/packer.ts';
import { openSpool, type Spool, spoolOf } from '#runtime/link/spool.ts';
import { createUploadSender } from '#runtime/link/upload-sender.ts';
import { createUploads, type Uploads } from '#runtime/link/uploads.ts';
import { CallStretches } from '#runtime/worker/call-stretches.ts';
import { type Job, JobTable } from '#runtime/worker/job-table.ts';
import { Offers } from '#runtime/worker/offers.ts';
import { loggedInputs, REPLY, SEGMENT_MS, spokenSegments } from './recorded-content.ts';

/** The SIP server that the workers say they are connected to. */
export const SIP_SERVER = 'bench';
const KINDS = ['phone', 'analysis'] as const;
const ANSWER_MS = 100;
const TURN_MS = 10_000;
/** From the first sound of a reply to its end. */
const REPLY_MS = 4_000;
const CAPTION_MS = 400;
const SEGMENTS = spokenSegments();
const FLIGHT_LOG = loggedInputs();

/** How a scripted worker reaches its control plane. */
export interface WorkerParts {
  readonly url: string;
  readonly token: string;
  readonly logger: Logger;
  readonly spoolRoot: string;
  readonly packer: Packer;
  readonly capacity: number;
  readonly callMs: number;
}

/** A scripted worker. */
export class ScriptedWorker {
  /** Its instance, and where signalling sends its INVITEs. */
  readonly tag: string;
  readonly #parts: WorkerParts;
  readonly #jobs = new JobTable(systemClock);
  readonly #client: ControlPlaneClient;
  readonly #offers: Offers;
  readonly #uploads: Uploads;
  /** Calls that have ended as their script says. */
  ended = 0;
  /** Of calls; analyses have none. */
  readonly #stretches = new WeakMap<Job, CallStretches>();
  /** Failures, and how often each happened. */
  readonly troubles = new Map<string, number>();

  private constructor(parts: WorkerParts, tag: string, spool: Spool) {
    const { url, token, logger, capacity } = parts;
    this.tag = tag;
    this.#parts = parts;
    const onLost = () => this.note('part of a recording was lost');
    const { packer } = parts;
    const clock = systemClock;
    const way = { url, token, clock, logger };
    const objects = new ObjectSender({ ...way, packer, instanceId: tag, sender: createUploadSender(way) });
    const directory = spoolOf(parts.spoolRoot, tag);
    const left = { bytes: 0, retry: () => this.note('an object was given up') };
    const kept = new KeptPieces({ directory, left, clock, logger });
    this.#uploads = createUploads({
      clock,
      logger,
      onLost,
      sender: createUploadSender(way),
      objects,
      packer,
      kept,
    });
    this.#client = connectControlPlane({
      url,
      token,
      clock: systemClock,
      logger,
      spool,
      adopted: new Map(),
      facts: () => ({
        instanceId: this.tag,
        supervisorRun: null,
        capacity,
        codecs: ['PCMU'],
        sipTag: this.tag,
        sipServers: [SIP_SERVER],
        kinds: KINDS,
        sessions: this.#jobs.all().filter(({ kind }) => kind === 'phone'),
      }),
      load: () => this.#offers.load(),
      onMessage: (message) => this.#receive(message),
      onAlone: () => this.note('the link was lost'),
    });
    this.#offers = new Offers({
      identity: { kinds: KINDS, capacity },
      clock: systemClock,
      jobs: this.#jobs,
      client: this.#client,
      phone: { signalling: { isConnected: true } },
      loopLagMs: startLagMeter(HEARTBEAT_MS),
    });
  }

  static async open(parts: WorkerParts): Promise<ScriptedWorker> {
    const tag = `bench-${randomUUID().slice(0, 8)}`;
    return new ScriptedWorker(parts, tag, await openSpool(parts.spoolRoot, tag));
  }

  get isConnected(): boolean {
    return this.#client.isConnected;
  }

  /** Counts a trouble. */
  note(trouble: string): void {
    this.troubles.set(trouble, (this.troubles.get(trouble) ?? 0) + 1);
  }

  /** An INVITE has been routed to this worker. */
  async invite(sipCallId: string): Promise<void> {
    const job = this.#jobs.takeSipCall(sipCallId);
    if (!job) throw new Error(`no job for ${sipCallId}`);
    await job.plan;
    await systemClock.sleep(ANSWER_MS);
    await this.#talk(job);
  }

  async #talk(job: Job): Promise<void> {
    const startMs = performance.now();
    const { sessionId, epoch } = job;
    const report = (one: DurableReport) => this.#client.report({ sessionId, epoch }, one);
    const stretches = new CallStretches({ clock: systemClock, uploads: this.#uploads, report });
    this.#stretches.set(job, stretches);
    this.#report(job, { type: 'dialog', ...dialogOf(job) });
    this.#report(job, { type: 'joined', at: now() });
    this.#say(job, 'assistant', 0, 'Hello, this is the bench. How can I help you?');
    const recording = this.#record(job, stretches);
    for (let turn = 1; (turn + 0.5) * TURN_MS < this.#parts.callMs; turn++) {
      await untilMs(startMs + turn * TURN_MS);
      await this.#turn(job, turn);
    }
    await untilMs(startMs + this.#parts.callMs);
    const segments = recording();
    const startedAt = new Date(Date.now() - this.#parts.callMs).toISOString();
    const track = { segments, rate_hz: 8_000, started_at: startedAt, duration_ms: this.#parts.callMs };
    this.#report(job, {
      type: 'recording',
      tracks: [
        { role: 'agent', ...track },
        { role: 'user', ...track },
      ],
    });
    this.#report(job, { type: 'media', quality: QUALITY });
    this.#report(job, { type: 'ended', at: now(), end_reason: 'user_hangup' });
    await stretches.close();
    this.#jobs.remove(job.sessionId, job.epoch);
    this.ended += 1;
  }

  async #turn(job: Job, turn: number): Promise<void> {
    this.#say(job, 'user', turn, 'I would like to book a table for two people tomorrow at eight, please.');
    this.#report(job, { type: 'turn', latency: latencyOf(turn) });
    for (let saidMs = CAPTION_MS; saidMs < REPLY_MS; saidMs += CAPTION_MS) {
      await systemClock.sleep(CAPTION_MS);
      this.#caption(job, turn, REPLY.slice(0, (REPLY.length * saidMs) / REPLY_MS), false);
    }
    this.#caption(job, turn, REPLY, true);
    this.#report(job, {
      type: 'usage',
      turn_id: turn,
      model: 'openai/gpt-4.1-mini',
      input_tokens: 900,
      cached_input_tokens: 0,
      output_tokens: 40,
      discarded_output_tokens: 0,
    });
    this.#say(job, 'assistant', turn, REPLY);
  }

  #caption({ sessionId, epoch }: Job, turn: number, text: string, final: boolean): void {
    const event = { type: 'transcript', role: 'agent', segmentId: `r${turn}`, text, final };
    this.#client.send({ type: 'live', session_id: sessionId, epoch, event });
  }

  /** Uploads a recording and a flight log until it is stopped; returns the segments of each side. */
  #record(job: Job, stretches: CallStretches): () => number {
    let segment = 0;
    const startedMs = Date.now();
    const ofSession = { session_id: job.sessionId, epoch: job.epoch };
    const save = () => {
      const head = {
        type: 'recording',
        ...ofSession,
        segment,
        start_ms: startedMs + segment * SEGMENT_MS,
        rate_hz: 8_000,
      } as const;
      // One side speaks while the other one listens.
      for (const [side, track] of (['agent', 'user'] as const).entries()) {
        const bytes = SEGMENTS[track][(segment + side) % 2] as Uint8Array;
        stretches.put({ head: { ...head, track }, bytes });
      }
      stretches.put({ head: { type: 'flight_log', ...ofSession, chunk: segment }, bytes: FLIGHT_LOG });
      segment += 1;
    };
    const timer = systemClock.every(SEGMENT_MS, save);
    return () => {
      timer.cancel();
      save();
      this.#uploads.end(job.sessionId, job.epoch);
      return segment;
    };
  }

  #say(job: Job, role: 'user' | 'assistant', turn: number, content: string): void {
    const item: SessionItem = {
      type: 'message',
      role,
      content,
      turn_id: turn,
      created_at: now(),
      id: randomUUID(),
    };
    this.#report(job, { type: 'items', items: [item] });
  }

  #report(job: Job, report: DurableReport): void {
    const { sessionId, epoch } = job;
    const stretches = this.#stretches.get(job);
    if (stretches) stretches.report(report);
    else this.#client.report({ sessionId, epoch }, report);
  }

  #receive(message: ControlMessage): void {
    switch (message.type) {
      case 'offer':
        this.#offers.take(message);
        return;
      case 'assign':
        this.#jobs.assign(message.session_id, message.epoch, message.plan);
        return;
      case 'assign_analysis': {
        const job = this.#jobs.keep(message.session_id, message.epoch);
        if (!job) return;
        this.#report(job, { type: 'analysis', job_id: message.job.job_id, result: ANALYSIS });
        this.#jobs.remove(job.sessionId, job.epoch);
        return;
      }
      case 'withdraw':
        this.#offers.drop(message.session_id, message.epoch);
        this.#jobs.withdraw(message.session_id, message.epoch);
        return;
      case 'end':
      case 'stale':
        this.note(`the control plane sent '${message.type}'`);
        return;
      default:
        return;
    }
  }
}

const QUALITY = {
  packets_received: 5_000,
  packets_lost: 0,
  packets_sent: 5_000,
  jitter_ms: 1,
  round_trip_ms: 20,
  jitter_buffer_ms: 40,
  concealed_share: 0,
  mos: 4.3,
};
const ANALYSIS: AnalysisResult = {
  status: 'completed',
  summary: 'A table was booked.',
  data: [],
  criteria_results: [],
  error: null,
};

async function untilMs(atMs: number): Promise<void> {
  await systemClock.sleep(Math.max(0, atMs - performance.now()));
}

function now(): string {
  return new Date().toISOString();
}

function latencyOf(turn: number) {
  return {
    turn_id: turn,
    speech_ended_at: now(),
    endpoint_ms: 450,
    transcript_ms: 0,
    first_token_ms: 200,
    first_sentence_ms: 80,
    first_audio_ms: 60,
    playout_ms: 10,
    total_ms: 800,
    endpoint_rule: 'complete',
    speculative: false,
  };
}

function dialogOf({ sipCallId }: Job): ReportedDialog {
  return {
    sip_call_id: sipCallId ?? '',
    local_tag: 'local',
    remote_tag: 'remote',
    local_party: '<sip:agent@parley.example>;tag=local',
    remote_party: '<sip:caller@carrier.example>;tag=remote',
    route_set: [],
    local_cseq: 1,
    remote_target: 'sip:caller@carrier.example',
    local_contact: 'sip:agent@parley.example',
    local_sdp: 'v=0',
    remote_sdp: 'v=0',
    server: SIP_SERVER,
  };
}
