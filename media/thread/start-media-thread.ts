/**
 * Starts the media thread and gives the call loop its handle on it. RTP legs live on the thread; web legs in
 * a process of their own (`transport.ts` says why) that is started with the first web call, or ahead of it by
 * `warmUp`.
 */
import type { Clock } from '#base/clock.ts';
import type { Logger } from '#base/log.ts';
import type { Leg } from '../leg/leg.ts';
import type {
  LivekitLegOptions,
  MediaHost,
  RtpLegOptions,
  Transport,
  WebrtcLegOptions,
} from '../leg/media-host.ts';
import type { IceServer } from '../leg/media-messages.ts';
import { RemoteLegs } from './remote-legs.ts';
import { runAsProcess, runAsThread } from './transport.ts';

/** What a media thread is started with. */
export interface MediaThreadOptions {
  /** This worker's slice of UDP ports, both ends included. */
  readonly rtpPortMin: number;
  readonly rtpPortMax: number;
  /** Address written into WebRTC candidates where the machine's own is not reachable from outside. */
  readonly publicIp?: string | undefined;
  readonly iceServers: readonly IceServer[];
  readonly clock: Clock;
  readonly logger: Logger;
  /**
   * Told that the thread (or the web calls' process) died and is being replaced; its legs have been closed as
   * `failed`.
   */
  readonly onCrash?: (error: Error) => void;
}

/** Starts the media thread; resolves once it runs. Throws what its start threw. */
export async function startMediaThread(options: MediaThreadOptions): Promise<MediaHost> {
  const host = new ThreadedMediaHost(options);
  await host.started;
  return host;
}

class ThreadedMediaHost implements MediaHost {
  readonly #options: MediaThreadOptions;
  readonly #phone: RemoteLegs;
  #web: RemoteLegs | null = null;

  constructor(options: MediaThreadOptions) {
    this.#options = options;
    this.#phone = this.#engine(runAsThread);
  }

  get started(): Promise<void> {
    return this.#phone.started;
  }

  warmUp(transports: readonly Transport[]): void {
    if (transports.includes('rtp')) this.#phone.warmUp('rtp');
    if (transports.includes('webrtc')) this.#webEngine().warmUp('webrtc');
  }

  async openRtpLeg(options: RtpLegOptions): Promise<{ leg: Leg; localPort: number }> {
    const { leg, opened } = await this.#phone.open('rtp', (number) => ({
      type: 'openRtp',
      leg: number,
      options,
    }));
    return { leg, localPort: opened.localPort ?? 0 };
  }

  async openWebrtcLeg(options: WebrtcLegOptions): Promise<{ leg: Leg; answerSdp: string }> {
    const { leg, opened } = await this.#webEngine().open('webrtc', (number) => ({
      type: 'openWebrtc',
      leg: number,
      options,
    }));
    return { leg, answerSdp: opened.answerSdp ?? '' };
  }

  async openLivekitLeg(options: LivekitLegOptions): Promise<{ leg: Leg }> {
    const { leg } = await this.#webEngine().open('livekit', (number) => ({
      type: 'openLivekit',
      leg: number,
      options,
    }));
    return { leg };
  }

  async close(): Promise<void> {
    await Promise.all([this.#phone.close(), this.#web?.close()]);
  }

  #webEngine(): RemoteLegs {
    this.#web ??= this.#engine(runAsProcess);
    return this.#web;
  }

  #engine(run: typeof runAsThread): RemoteLegs {
    const { rtpPortMin, rtpPortMax, publicIp, iceServers, clock, logger, onCrash } = this.#options;
    return new RemoteLegs({
      run,
      settings: { rtpPortMin, rtpPortMax, publicIp: publicIp ?? null, iceServers },
      clock,
      logger,
      onCrash,
    });
  }
}
