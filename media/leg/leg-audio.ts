/**
 * What every transport on the media thread shares for one leg: the playout queue, the recording tap, speech
 * detection and the way events go up. A transport gives it what was received and asks it, once per slot, for
 * what to send.
 */
import type { Clock } from '#base/clock.ts';
import { EchoPath } from '../voice-activity/echo-path.ts';
import type { VoiceRateHz } from '../voice-activity/silero.ts';
import type { SpeechDetector, VoiceTap } from '../voice-activity/vad.ts';
import { FAR_FRAMES } from './frame-fifo.ts';
import { FRAME_MS, type FrameKind, type LegCommand, type LegEvent } from './leg.ts';
import type { LegRecording } from './media-host.ts';
import { type EventBatcher, frameSamples, rtpLegNumber } from './media-messages.ts';
import type { Pacer } from './pacer.ts';
import { Playout } from './playout.ts';
import { Recorder } from './recorder.ts';
import { SideAudio } from './side-audio.ts';

/** Where the voice of a bridged leg comes from, among the sources that are mixed. */
const BRIDGE = 'bridge';

/** What the legs of one media thread share. */
export interface MediaShared {
  readonly clock: Clock;
  readonly pacer: Pacer;
  readonly events: EventBatcher;
  readonly detector: SpeechDetector;
  /** The audio of every open leg, by the number the thread knows the leg by. */
  readonly audios: Map<number, LegAudio>;
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
  readonly recording: LegRecording | null;
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
  readonly #echo = new EchoPath();
  readonly #voice: VoiceTap;
  readonly #inRateHz: number;
  readonly #outRateHz: number;
  readonly #side: SideAudio;
  readonly #isHuman: boolean;
  /** The agent's part of `sent`. */
  readonly #said: Int16Array;
  #bridged: LegAudio | null = null;
  #isRelaying = false;
  /** Nobody has answered yet: nothing is recorded. */
  isEarly = false;

  constructor(options: LegAudioOptions, shared: MediaShared) {
    this.#leg = options.leg;
    this.#shared = shared;
    this.received = new Int16Array(frameSamples(options.inRateHz));
    this.sent = new Int16Array(frameSamples(options.outRateHz));
    const emit = (event: LegEvent) => this.emit(event);
    this.#playout = new Playout(options.outRateHz, emit);
    this.#voice = shared.detector.open(options.inRateHz, emit, this.#echo);
    this.#inRateHz = options.inRateHz;
    this.#outRateHz = options.outRateHz;
    this.#side = new SideAudio(options.outRateHz, this.sent.length);
    this.#said = new Int16Array(this.sent.length);
    this.#isHuman = options.recording?.of === 'human';
    shared.audios.set(options.leg, this);
    const { inRateHz: userRateHz, outRateHz: agentRateHz, originMs } = options;
    this.#recorder = options.recording
      ? new Recorder({ originMs, userRateHz, agentRateHz, ...options.recording }, emit)
      : null;
  }

  /** Sends an event up with the next batch. */
  emit(event: LegEvent): void {
    this.#shared.events.add(this.#leg, event);
    this.#shared.pacer.wake();
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
        this.#voice.watch(command.reachMs, command.unsureReachMs);
        return true;
      case 'mix':
        this.#side.push(command.source, command.rateHz, command.samples, FAR_FRAMES);
        return true;
      case 'relay':
        this.#isRelaying = command.isOn;
        return true;
      case 'bridge':
        this.#bridge(
          command.otherLegId === null
            ? null
            : (this.#shared.audios.get(rtpLegNumber(command.otherLegId)) ?? null),
        );
        return true;
      case 'holdMusic':
        this.#side.playMusic(command.isOn);
        return true;
      default:
        return false;
    }
  }

  /**
   * Takes caller audio for speech detection as it arrives, ahead of any jitter buffer; its first sample was
   * spoken at `atMs`.
   */
  hear(samples: Int16Array, atMs: number): void {
    this.#echo.hear(samples, this.#inRateHz, atMs);
    this.#voice.push(samples, atMs);
    if (this.#shared.detector.hasQueued) this.#shared.pacer.wake();
  }

  /**
   * Fills `sent` with the slot's reply audio and what goes out beside it, or with silence while the transport
   * cannot send; returns the number of reply samples.
   */
  fillSent(atMs: number, canSend: boolean): number {
    const count = canSend ? this.#playout.next(this.sent, atMs) : 0;
    if (!canSend) this.sent.fill(0);
    this.#said.set(this.sent);
    if (canSend) this.#side.addTo(this.sent);
    this.#echo.play(this.sent, this.#outRateHz, atMs);
    return count;
  }

  /**
   * Ends the slot: reports `received` as caller audio, hands it to the leg it is bridged to, and records both
   * sides. `lagMs` is how long `received` waited in a jitter buffer: it is recorded where it would have come
   * without.
   */
  endSlot(slot: number, atMs: number, kind: FrameKind, lagMs = 0): void {
    this.#shared.events.addAudio(this.#leg, { slot, atMs, kind }, this.received);
    if (this.#bridged) this.#bridged.#side.push(BRIDGE, this.#inRateHz, this.received);
    if (this.#isRelaying)
      this.emit({ type: 'relayed', voice: this.received.slice(), sent: this.sent.slice() });
    if (!this.isEarly && (!this.#isHuman || this.#bridged || this.#isRelaying)) {
      this.#recorder?.write(slot, this.received, this.#said, Math.round(lagMs / FRAME_MS));
    }
    this.#voice.tick(this.#shared.clock.now());
  }

  /** Stops listening and emits the rest of the recording. */
  close(): void {
    this.#bridge(null);
    this.#shared.audios.delete(this.#leg);
    this.#voice.close();
    this.#recorder?.close();
  }

  /** Joins two legs, or parts them. */
  #bridge(other: LegAudio | null): void {
    if (other === this) return;
    const before = this.#bridged;
    if (before) before.#joinTo(null);
    this.#joinTo(other);
    if (!other) return;
    if (other.#bridged) other.#bridged.#joinTo(null);
    other.#joinTo(this);
  }

  #joinTo(other: LegAudio | null): void {
    this.#bridged = other;
    if (other === null) this.#side.drop(BRIDGE);
  }
}
