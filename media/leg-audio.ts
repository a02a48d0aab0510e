/**
 * What every transport on the media thread shares for one leg: the playout queue, the recording tap, speech detection and the way events go up.
 * A transport gives it what was received and asks it, once per slot, for what to send.
 */
import type { Clock } from '#config/clock.ts';
import type { FrameKind, LegCommand, LegEvent } from './leg.ts';
import { type EventBatcher, frameSamples } from './media-messages.ts';
import type { Pacer } from './pacer.ts';
import { Playout } from './playout.ts';
import { Recorder } from './recorder.ts';
import type { VoiceRateHz } from './silero.ts';
import type { SpeechDetector, VoiceTap } from './vad.ts';

/** What the legs of one media thread share. */
export interface MediaShared {
  readonly clock: Clock;
  readonly pacer: Pacer;
  readonly events: EventBatcher;
  readonly detector: SpeechDetector;
  readonly log: (level: 'info' | 'warn' | 'error', message: string, detail?: unknown) => void;
}

/** One transport as the media thread drives it. */
export interface TransportLeg {
  command(command: LegCommand): void;
  /** Something of this leg broke: it closes as `failed`, and the others go on. */
  fail(error: unknown): void;
  /** Closes it; resolves when `closed`, its last event, has been given. Idempotent. */
  close(): Promise<void>;
}

/** What a leg's audio side is made with. */
export interface LegAudioOptions {
  /** Number the thread knows the leg by. */
  readonly leg: number;
  readonly inRateHz: VoiceRateHz;
  readonly outRateHz: number;
  readonly originMs: number;
  readonly recording: { readonly firstSegment: number } | null;
}

/** The transport-independent half of a leg. */
export class LegAudio {
  /** The frame received in the running slot; filled by the transport. */
  readonly received: Int16Array;
  /** The frame to send in the running slot; filled by `fillSent`. */
  readonly sent: Int16Array;
  readonly #leg: number;
  readonly #shared: MediaShared;
  readonly #playout: Playout;
  readonly #recorder: Recorder | null;
  readonly #voice: VoiceTap;

  constructor(options: LegAudioOptions, shared: MediaShared) {
    this.#leg = options.leg;
    this.#shared = shared;
    this.received = new Int16Array(frameSamples(options.inRateHz));
    this.sent = new Int16Array(frameSamples(options.outRateHz));
    const emit = (event: LegEvent) => this.emit(event);
    this.#playout = new Playout(options.outRateHz, emit);
    this.#voice = shared.detector.open(options.inRateHz, emit);
    const { inRateHz: userRateHz, outRateHz: agentRateHz, originMs } = options;
    this.#recorder = options.recording ? new Recorder({ originMs, userRateHz, agentRateHz, ...options.recording }, emit) : null;
  }

  /** Sends an event up with the next batch. */
  emit(event: LegEvent): void {
    this.#shared.events.add(this.#leg, event);
  }

  /** Carries out the commands every transport treats alike; false when the command is the transport's own. */
  command(command: LegCommand): boolean {
    const nowMs = this.#shared.clock.now();
    switch (command.do) {
      case 'play':
        this.#playout.play(command);
        return true;
      case 'pause':
        this.#playout.pause(nowMs);
        return true;
      case 'resume':
        this.#playout.resume();
        return true;
      case 'clear':
        this.#playout.clear(nowMs);
        return true;
      case 'watchVoice':
        this.#voice.watch(command.reachMs);
        return true;
      default:
        return false;
    }
  }

  /** Takes caller audio for speech detection as it arrives, ahead of any jitter buffer; its first sample was spoken at `atMs`. */
  hear(samples: Int16Array, atMs: number): void {
    this.#voice.push(samples, atMs);
  }

  /** Fills `sent` with the slot's reply audio, or with silence while the transport cannot send; returns the number of reply samples. */
  fillSent(atMs: number, canSend: boolean): number {
    if (canSend) return this.#playout.next(this.sent, atMs);
    this.sent.fill(0);
    return 0;
  }

  /** Ends the slot: reports `received` as caller audio and records both frames. */
  endSlot(slot: number, atMs: number, kind: FrameKind): void {
    this.#shared.events.addAudio(this.#leg, { slot, atMs, kind }, this.received);
    this.#recorder?.write(slot, this.received, this.sent);
    this.#voice.tick(this.#shared.clock.now());
  }

  /** Stops listening and emits the rest of the recording. */
  close(): void {
    this.#voice.close();
    this.#recorder?.close();
  }
}
