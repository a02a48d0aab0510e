/**
 * The media thread's side: opens and closes legs, passes commands to them, and runs the wheel that drives
 * them.
 */
import { systemClock } from '#base/clock.ts';
import { collectGarbageAtRest, collectStartGarbage } from '#base/garbage.ts';
import { createOwnAddresses } from '#base/own-addresses.ts';
import { Fault } from '#config/errors.ts';
import { EventBatcher } from '../leg/event-batch.ts';
import type { LegCommand } from '../leg/leg.ts';
import type { MediaShared } from '../leg/leg-audio.ts';
import type { MediaThreadSettings, Transport } from '../leg/leg-factory.ts';
import { Pacer } from '../leg/pacer.ts';
import { thisThread } from '../leg/pacer-thread.ts';
import type { TransportLeg } from '../leg/transport-leg.ts';
import { openLivekitSession, warmUpLivekit } from '../livekit/livekit-leg.ts';
import { PortPool } from '../rtp/port-pool.ts';
import { openRtpSession } from '../rtp/rtp-session.ts';
import { openStreamSession } from '../stream/stream-leg.ts';
import { SpeechDetector } from '../voice-activity/vad.ts';
import { openWebrtcSession, warmUpWebrtc } from '../webrtc/webrtc-leg.ts';
import type { FromMediaThread, ToMediaThread } from './thread-messages.ts';

const LATENESS_EVERY_MS = 1_000;

type OpenMessage = Extract<ToMediaThread, { type: `open${string}` }>;

/** The media thread's legs and their shared state; sends to the call loop through `post`. */
export class LegsHost {
  readonly #post: (message: FromMediaThread, transfer?: ArrayBuffer[]) => void;
  readonly #legs = new Map<number, TransportLeg>();
  #opening = 0;
  readonly #events = new EventBatcher();
  readonly #detector: SpeechDetector;
  readonly #pacer: Pacer;
  readonly #shared: MediaShared;
  readonly #collecting = collectGarbageAtRest(systemClock, () => this.#isWithoutLegs);
  #settings: MediaThreadSettings = { rtpPortMin: 0, rtpPortMax: 0, publicIp: null, iceServers: [] };
  #ports = new PortPool(0, 0);
  #toldLatenessMs = 0;

  constructor(post: (message: FromMediaThread, transfer?: ArrayBuffer[]) => void) {
    this.#post = post;
    const log: MediaShared['log'] = (level, message, detail) => this.#log(level, message, detail);
    this.#detector = new SpeechDetector(systemClock, log);
    this.#pacer = new Pacer(systemClock, (nowMs) => this.#flush(nowMs), thisThread);
    this.#shared = {
      clock: systemClock,
      pacer: this.#pacer,
      events: this.#events,
      detector: this.#detector,
      isOwnAddress: createOwnAddresses(systemClock),
      speech: { untilMs: Number.POSITIVE_INFINITY },
      audios: new Map(),
      log,
    };
  }

  /** A leg, even one being opened, would wait for a collection of garbage. */
  get #isWithoutLegs(): boolean {
    return this.#legs.size + this.#opening === 0;
  }

  /** Handles one message of the call loop. */
  receive(message: ToMediaThread): void {
    switch (message.type) {
      case 'start':
        this.#start(message.settings);
        return;
      case 'warmUp':
        void this.#warmUp(message.transports);
        return;
      case 'commands':
        for (const { leg, command } of message.commands) this.#command(leg, command);
        return;
      case 'openRtp':
      case 'openStream':
      case 'openWebrtc':
      case 'openLivekit':
        void this.#open(message);
        return;
      case 'speakUntil':
        this.#shared.speech.untilMs = message.untilMs;
        return;
      case 'stop':
        void this.#stop();
        return;
      default:
        message satisfies never;
    }
  }

  /** A command that throws closes its leg and no other. */
  #command(number: number, command: LegCommand): void {
    const leg = this.#legs.get(number);
    try {
      leg?.command(command);
    } catch (error) {
      leg?.fail(error);
    }
  }

  #start(settings: MediaThreadSettings): void {
    this.#settings = settings;
    this.#ports = new PortPool(settings.rtpPortMin, settings.rtpPortMax);
    this.#post({ type: 'ready' });
  }

  /**
   * If loading fails, the first leg that needs it reports the failure. The speech detector is not waited for:
   * levels decide until it has loaded.
   */
  async #warmUp(transports: readonly Transport[]): Promise<void> {
    this.#detector.warmUp();
    let isComplete = true;
    try {
      if (transports.includes('webrtc')) warmUpWebrtc();
    } catch (error) {
      isComplete = false;
      this.#log('warn', 'the WebRTC library cannot be loaded; web calls will fail', error);
    }
    try {
      if (transports.includes('livekit')) await warmUpLivekit();
    } catch (error) {
      isComplete = false;
      this.#log('warn', 'the LiveKit library cannot be loaded; calls in rooms will fail', error);
    }
    if (this.#isWithoutLegs) collectStartGarbage();
    this.#post({ type: 'warm', isComplete });
  }

  async #open(message: OpenMessage): Promise<void> {
    const number = message.leg;
    this.#opening += 1;
    try {
      const { leg, opened } = await this.#openSession(message);
      this.#legs.set(number, leg);
      this.#post({ type: 'opened', leg: number, opened });
    } catch (error) {
      if (!(error instanceof Fault)) this.#log('error', 'a leg could not be opened', error);
      const code = error instanceof Fault ? error.code : 'internal';
      this.#post({
        type: 'refused',
        leg: number,
        code,
        message: error instanceof Error ? error.message : String(error),
      });
    } finally {
      this.#opening -= 1;
    }
  }

  #openSession(message: OpenMessage) {
    const onClosed = () => void this.#legs.delete(message.leg);
    const { leg } = message;
    if (message.type === 'openRtp')
      return openRtpSession({ ...message.options, leg, ports: this.#ports, onClosed }, this.#shared);
    if (message.type === 'openStream')
      return openStreamSession({ ...message.options, leg, onClosed }, this.#shared);
    if (message.type === 'openWebrtc')
      return openWebrtcSession({ ...message.options, leg, settings: this.#settings, onClosed }, this.#shared);
    return openLivekitSession({ ...message.options, leg, onClosed }, this.#shared);
  }

  #flush(nowMs: number): void {
    this.#detector.flush(nowMs);
    this.#postEvents(nowMs);
    if (this.#legs.size === 0 || nowMs - this.#toldLatenessMs < LATENESS_EVERY_MS) return;
    this.#toldLatenessMs = nowMs;
    this.#post({ type: 'lateness', ms: this.#pacer.takeLateness() });
  }

  #postEvents(nowMs: number): void {
    const taken = this.#events.take(nowMs);
    if (taken) this.#post({ type: 'events', batch: taken.batch }, taken.transfer);
  }

  async #stop(): Promise<void> {
    await Promise.all([...this.#legs.values()].map((leg) => leg.close()));
    this.#pacer.close();
    this.#collecting.cancel();
    this.#postEvents(systemClock.now());
    await this.#detector.close();
    this.#post({ type: 'stopped' });
  }

  #log(level: 'info' | 'warn' | 'error', message: string, detail?: unknown): void {
    const text =
      detail instanceof Error
        ? (detail.stack ?? detail.message)
        : detail === undefined
          ? null
          : String(detail);
    this.#post({ type: 'log', level, message, detail: text });
  }
}
