/**
 * Starts the media thread and returns the call loop's handle of it. Legs of phones run on the thread; web
 * legs in a separate process (see `transport.ts`), started with the first web call or by `warmUp`.
 */
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { Leg } from '../leg/leg.ts';
import type {
  IceServer,
  LegFactory,
  LivekitLegOptions,
  RtpLegOptions,
  StreamLegOptions,
  Transport,
  WebrtcLegOptions,
} from '../leg/leg-factory.ts';
import { RemoteLegs } from './remote-legs.ts';
import { runAsProcess, runAsThread } from './transport.ts';
import { WebLegs, type WebProcessListener } from './web-legs.ts';

/** Options of a media thread. */
export interface MediaThreadOptions {
  /** This worker's range of UDP ports, inclusive. */
  readonly rtpPortMin: number;
  readonly rtpPortMax: number;
  /** Address for WebRTC candidates if the machine's own is unreachable from outside. */
  readonly publicIp?: string | undefined;
  readonly iceServers: readonly IceServer[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** Rooms after which another process takes the new web calls; absent: as many as is sensible. */
  readonly roomsPerProcess?: number | undefined;
  /**
   * Called when the thread (or the web calls' process) died and is being replaced; its legs are closed as
   * `failed`.
   */
  readonly onCrash?: (error: Error) => void;
  /** Called with the greatest lateness of each second in which a thread or process had legs, ms. */
  readonly onLateness?: (ms: number) => void;
}

/** Starts the media thread; resolves once it runs. Throws if it cannot start. */
export async function startMediaThread(options: MediaThreadOptions): Promise<LegFactory> {
  const host = new ThreadedLegFactory(options);
  await host.started;
  return host;
}

class ThreadedLegFactory implements LegFactory {
  readonly #options: MediaThreadOptions;
  readonly #phone: RemoteLegs;
  #web: WebLegs | null = null;
  #speakUntilMs: number | null = null;

  constructor(options: MediaThreadOptions) {
    this.#options = options;
    this.#phone = this.#engine(runAsThread);
  }

  get started(): Promise<void> {
    return this.#phone.started;
  }

  warmUp(transports: readonly Transport[]): void {
    if (transports.includes('rtp')) this.#phone.warmUp(['rtp']);
    const ofWeb = transports.filter((transport) => transport !== 'rtp' && transport !== 'stream');
    if (ofWeb.length > 0) this.#webLegs().warmUp(ofWeb);
  }

  get isWebReady(): boolean {
    return this.#web?.isReady ?? false;
  }

  async openRtpLeg(options: RtpLegOptions): Promise<{ leg: Leg; localPort: number }> {
    const { leg, opened } = await this.#phone.open('rtp', (number) => ({
      type: 'openRtp',
      leg: number,
      options,
    }));
    return { leg, localPort: opened.localPort ?? 0 };
  }

  async openStreamLeg(options: StreamLegOptions): Promise<{ leg: Leg }> {
    const { leg } = await this.#phone.open('stream', (number) => ({
      type: 'openStream',
      leg: number,
      options,
    }));
    return { leg };
  }

  async openWebrtcLeg(options: WebrtcLegOptions): Promise<{ leg: Leg; answerSdp: string }> {
    const { leg, opened } = await this.#webLegs().open('webrtc', (number) => ({
      type: 'openWebrtc',
      leg: number,
      options,
    }));
    return { leg, answerSdp: opened.answerSdp ?? '' };
  }

  async openLivekitLeg(options: LivekitLegOptions): Promise<{ leg: Leg }> {
    const { leg } = await this.#webLegs().open('livekit', (number) => ({
      type: 'openLivekit',
      leg: number,
      options,
    }));
    return { leg };
  }

  speakUntil(untilMs: number): void {
    this.#speakUntilMs = untilMs;
    this.#phone.speakUntil(untilMs);
    this.#web?.speakUntil(untilMs);
  }

  async close(): Promise<void> {
    await Promise.all([this.#phone.close(), this.#web?.close()]);
  }

  #webLegs(): WebLegs {
    if (!this.#web) {
      this.#web = new WebLegs({
        ...this.#options,
        start: (listener) => this.#engine(runAsProcess, listener),
      });
      if (this.#speakUntilMs !== null) this.#web.speakUntil(this.#speakUntilMs);
    }
    return this.#web;
  }

  #engine(run: typeof runAsThread, listener?: WebProcessListener): RemoteLegs {
    const { rtpPortMin, rtpPortMax, publicIp, iceServers, clock, logger, onCrash, onLateness } =
      this.#options;
    return new RemoteLegs({
      run,
      settings: { rtpPortMin, rtpPortMax, publicIp: publicIp ?? null, iceServers },
      clock,
      logger,
      onCrash,
      onLateness,
      ...listener,
    });
  }
}
