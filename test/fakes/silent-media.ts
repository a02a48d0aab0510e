/**
 * A `LegFactory` without sockets, for tests of signalling alone: its legs record their commands and close on
 * request.
 */
import type { Clock } from '#base/clock.ts';
import { fault } from '#config/errors.ts';
import type { Leg, LegCommand, LegEvent } from '#media/leg/leg.ts';
import type { LegFactory, RtpLegOptions } from '#media/leg/leg-factory.ts';
import type { RtpRemote } from '#media/leg/rtp-remote.ts';

/** A leg as seen by the test. */
export interface SilentLeg {
  readonly commands: LegCommand[];
  /** The remote it was opened with, then every remote passed to `setRemote`. */
  readonly remotes: RtpRemote[];
  /** The option it was opened with. */
  readonly wasHeard: boolean | undefined;
  /** The option it was opened with. */
  readonly awaitsStream: boolean | undefined;
  isClosed: boolean;
  /** Reports an event as the media thread would. */
  emit(event: LegEvent): void;
}

/** Opens silent legs, at most `ports` at a time. */
export class SilentMedia implements LegFactory {
  readonly legs: SilentLeg[] = [];
  isWebReady = true;
  readonly #clock: Clock;
  readonly #ports: number;

  constructor(clock: Clock, ports = 1_000) {
    this.#clock = clock;
    this.#ports = ports;
  }

  get open(): number {
    return this.legs.filter((leg) => !leg.isClosed).length;
  }

  speakUntil(): void {
    // Nothing is sent anyway.
  }

  async openRtpLeg(
    options: Pick<RtpLegOptions, 'remote' | 'wasHeard' | 'awaitsStream'>,
  ): Promise<{ leg: Leg; localPort: number }> {
    if (this.open >= this.#ports) throw fault('no_media_port');
    let listener: ((events: readonly LegEvent[]) => void) | null = null;
    const clock = this.#clock;
    const silent: SilentLeg = {
      commands: [],
      remotes: options.remote ? [options.remote] : [],
      wasHeard: options.wasHeard,
      awaitsStream: options.awaitsStream,
      isClosed: false,
      emit: (event) => listener?.([event]),
    };
    this.legs.push(silent);
    const close = () => {
      if (silent.isClosed) return;
      silent.isClosed = true;
      const stats = { packetsReceived: 0, packetsLost: 0, packetsSent: 0, jitterMs: 0 };
      clock.after(0, () => silent.emit({ type: 'closed', atMs: clock.now(), reason: 'local', stats }));
    };
    const leg: Leg = {
      id: `leg-${this.legs.length}`,
      kind: 'rtp',
      inRateHz: 8_000,
      outRateHz: 8_000,
      originMs: clock.now(),
      send(command) {
        silent.commands.push(command);
        if (command.do === 'setRemote') silent.remotes.push(command.remote);
        if (command.do !== 'close') return;
        if (command.lingerMs) clock.after(command.lingerMs, close);
        else close();
      },
      listen(next) {
        listener = next;
      },
    };
    return { leg, localPort: 20_000 + 2 * this.legs.length };
  }

  warmUp(): void {}

  openWebrtcLeg(): Promise<never> {
    return Promise.reject(fault('sdp_unusable'));
  }

  openLivekitLeg(): Promise<never> {
    return Promise.reject(fault('gateway_unreachable'));
  }

  openStreamLeg(): Promise<never> {
    return Promise.reject(fault('gateway_unreachable'));
  }

  async close(): Promise<void> {}
}
