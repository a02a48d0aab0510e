/**
 * What legs of browsers share, on a direct connection and in a room: slots in both directions, commands, and
 * an orderly end. The transport sends and receives.
 */
import { frameSamples } from '../dsp/frame.ts';
import { FrameFifo } from './frame-fifo.ts';
import type { LegCloseReason, LegCommand, LegStats } from './leg.ts';
import { LegAudio, type MediaShared } from './leg-audio.ts';
import type { LegRecording } from './leg-factory.ts';
import type { PacedLeg } from './pacer.ts';
import type { OpenedLeg, TransportLeg } from './transport-leg.ts';

/** Audio from the browser, at the engines' rate. */
export const IN_RATE_HZ = 16_000;
/** The rate of good synthetic voices, unreduced for web callers. */
export const OUT_RATE_HZ = 24_000;
/** The libraries exchange audio in blocks of this length. */
export const BLOCK_MS = 10;
/** A block for the browser. */
export const BLOCK_SAMPLES = (OUT_RATE_HZ * BLOCK_MS) / 1000;
/** A slot later than this is skipped instead of sent in a burst. */
const MAX_SEND_LATENESS_MS = 100;
/** Longest wait for a library's statistics. */
export const STATS_TIMEOUT_MS = 300;
/** Statistics of a connection that reports none. */
export const NO_STATS: LegStats = { packetsReceived: 0, packetsLost: 0, packetsSent: 0, jitterMs: 0 };

/** The connection below a web leg. */
export interface WebTransport {
  /** False while audio sent would be lost: a reply waits instead. */
  readonly canSend: boolean;
  /** False if a leg whose caller another worker has must end at once. */
  readonly canLinger: boolean;
  /** Sends one frame at `OUT_RATE_HZ`, valid only during the call. Throws if the library takes no more. */
  sendFrame(frame: Int16Array): void;
  /** Sends one message on the data channel. */
  sendMessage(json: string): void;
  /** The leg ends: stops the transport's timers. Failures to send are expected from now on. */
  stopTimers(): void;
  /** Waits until the last messages are sent if it may, and returns the statistics. Never rejects. */
  finish(reason: LegCloseReason): Promise<LegStats>;
  /** Closes the connection; `isMoved`: the caller is about to leave it for another worker. Never rejects. */
  release(isMoved: boolean): Promise<void>;
}

/** Options of a web leg. */
export interface WebLegOptions {
  /** Number of the leg at its media process. */
  readonly leg: number;
  readonly recording: LegRecording | null;
  /** Logged if the leg fails. */
  readonly failure: string;
  readonly onClosed: () => void;
}

/** One leg of a browser. */
export class WebLeg implements TransportLeg, PacedLeg {
  readonly originMs: number;
  readonly #options: WebLegOptions;
  readonly #transport: WebTransport;
  readonly #shared: MediaShared;
  readonly #audio: LegAudio;
  readonly #fifo = new FrameFifo(frameSamples(IN_RATE_HZ));
  #isConnected = false;
  #isAway = false;
  #isMoved = false;
  #ending: Promise<void> | null = null;

  constructor(options: WebLegOptions, transport: WebTransport, shared: MediaShared) {
    this.#options = options;
    this.#transport = transport;
    this.#shared = shared;
    this.originMs = shared.pacer.add(this);
    const rates = { inRateHz: IN_RATE_HZ, outRateHz: OUT_RATE_HZ } as const;
    const { leg, recording } = options;
    this.#audio = new LegAudio({ leg, ...rates, originMs: this.originMs, recording }, shared);
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** Another worker has the call. */
  get isMoved(): boolean {
    return this.#isMoved;
  }

  /** True once the leg ends or has ended. */
  get isEnding(): boolean {
    return this.#ending !== null;
  }

  /** The leg as the call loop sees it. */
  opened(answerSdp: string | null): OpenedLeg {
    const { originMs } = this;
    return { inRateHz: IN_RATE_HZ, outRateHz: OUT_RATE_HZ, originMs, localPort: null, answerSdp };
  }

  /** The caller can hear and be heard. */
  connected(): void {
    if (!this.#isConnected) this.#audio.emit({ type: 'connected', atMs: this.#shared.clock.now() });
    this.#isConnected = true;
  }

  /** The peer is out of reach, or back; idempotent. */
  setAway(isAway: boolean): void {
    if (!this.#isConnected || this.#ending || this.#isAway === isAway) return;
    this.#isAway = isAway;
    this.#audio.emit({ type: isAway ? 'away' : 'back', atMs: this.#shared.clock.now() });
  }

  /** Takes caller audio at `IN_RATE_HZ`: for speech detection at once, and queued for the slots. */
  hear(samples: Int16Array): void {
    if (this.#ending || !this.#isConnected) return;
    this.#audio.hear(samples, this.#shared.clock.now() - (samples.length * 1000) / IN_RATE_HZ);
    this.#fifo.push(samples);
  }

  /** Takes a message of the client. */
  receive(text: string): void {
    this.#audio.emit({ type: 'message', atMs: this.#shared.clock.now(), text });
  }

  command(command: LegCommand): void {
    if (this.#ending || this.#audio.command(command)) return;
    if (command.do === 'sendMessage') this.#transport.sendMessage(command.json);
    if (command.do !== 'close') return;
    this.#isMoved = command.keepsDialog === true;
    if (command.lingerMs && this.#transport.canLinger)
      this.#shared.clock.after(command.lingerMs, () => void this.end('local'));
    else void this.end('local');
  }

  close(): Promise<void> {
    return this.end('local');
  }

  tick(slot: number, dueMs: number): void {
    if (this.#ending || !this.#isConnected) return;
    const nowMs = this.#shared.clock.now();
    const lateMs = nowMs - dueMs;
    const kind = this.#fifo.pull(this.#audio.received, lateMs);
    const maySpeak = nowMs < this.#shared.speech.untilMs;
    const canSend = maySpeak && lateMs <= MAX_SEND_LATENESS_MS && this.#transport.canSend;
    this.#audio.fillSent(dueMs, canSend);
    if (canSend) this.#transport.sendFrame(this.#audio.sent);
    this.#audio.endSlot(slot, dueMs, kind);
  }

  fail(error: unknown): void {
    this.#shared.log('error', this.#options.failure, error);
    void this.end('failed');
  }

  /** Ends the leg as of `atMs`, by default now. Idempotent: the first reason counts. */
  end(reason: LegCloseReason, atMs = this.#shared.clock.now()): Promise<void> {
    this.#ending ??= this.#finish(reason, atMs);
    return this.#ending;
  }

  /** Cleans up after a connection that was never established; the call loop never had this leg. */
  abandon(): void {
    this.#ending = Promise.resolve();
    this.#stop();
    void this.#transport.release(false);
  }

  async #finish(reason: LegCloseReason, atMs: number): Promise<void> {
    this.#stop();
    const stats = await this.#transport.finish(reason);
    this.#audio.emit({ type: 'closed', atMs, reason, stats });
    await this.#transport.release(this.#isMoved);
    this.#options.onClosed();
  }

  #stop(): void {
    this.#transport.stopTimers();
    this.#shared.pacer.remove(this);
    this.#audio.close();
  }
}
