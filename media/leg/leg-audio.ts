/**
 * The transport-independent half of a leg on the media thread: playout queue, recording, speech detection and
 * events. A transport passes in received audio and asks once per slot for the audio to send.
 */
import type { Clock } from '#base/clock.ts';
import type { IsOwnAddress } from '#base/own-addresses.ts';
import { FRAME_MS, type FrameKind, frameSamples } from '../dsp/frame.ts';
import { EchoPath } from '../voice-activity/echo-path.ts';
import type { VoiceRateHz } from '../voice-activity/silero.ts';
import type { SpeechDetector, VoiceTap } from '../voice-activity/vad.ts';
import type { EventBatcher } from './event-batch.ts';
import { FAR_FRAMES } from './frame-fifo.ts';
import type { LegCommand, LegEvent, PlayoutPosition } from './leg.ts';
import type { LegRecording } from './leg-factory.ts';
import { phoneLegNumber } from './leg-id.ts';
import type { Pacer } from './pacer.ts';
import { Playout, type PlayoutEvent } from './playout.ts';
import { Recorder } from './recorder.ts';
import { SideAudio } from './side-audio.ts';

/** Source of the audio of a bridged leg, among the sources to mix. */
const BRIDGE = 'bridge';

/** State shared by the legs of one media thread. */
export interface MediaShared {
  readonly clock: Clock;
  readonly pacer: Pacer;
  readonly events: EventBatcher;
  readonly detector: SpeechDetector;
  readonly isOwnAddress: IsOwnAddress;
  /** No leg sends audio after this monotonic time. */
  readonly speech: { untilMs: number };
  /** The audio of every open leg, by the leg's number on this thread. */
  readonly audios: Map<number, LegAudio>;
  readonly log: (level: 'info' | 'warn' | 'error', message: string, detail?: unknown) => void;
}

/** Options of a leg's audio. */
export interface LegAudioOptions {
  /** Number of the leg on this thread. */
  readonly leg: number;
  readonly inRateHz: VoiceRateHz;
  readonly outRateHz: number;
  readonly originMs: number;
  readonly recording: LegRecording | null;
  /** Takes the events of the playout, of a transport whose peer plays later; absent: they are emitted. */
  readonly onPlayout?: (event: PlayoutEvent) => void;
}

/** The transport-independent half of a leg. */
export class LegAudio {
  /** The frame received in the current slot; filled by the transport. */
  readonly received: Int16Array;
  /** The frame to send in the current slot; filled by `fillSent`. */
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
  readonly #agentAudio: Int16Array;
  #bridged: LegAudio | null = null;
  #isRelaying = false;
  /** Not answered yet: nothing is recorded. */
  isEarly = false;

  constructor(options: LegAudioOptions, shared: MediaShared) {
    this.#leg = options.leg;
    this.#shared = shared;
    this.received = new Int16Array(frameSamples(options.inRateHz));
    this.sent = new Int16Array(frameSamples(options.outRateHz));
    const emit = (event: LegEvent) => this.emit(event);
    this.#playout = new Playout(options.outRateHz, options.onPlayout ?? emit);
    this.#voice = shared.detector.open(options.inRateHz, emit, this.#echo);
    this.#inRateHz = options.inRateHz;
    this.#outRateHz = options.outRateHz;
    this.#side = new SideAudio(options.outRateHz, this.sent.length);
    this.#agentAudio = new Int16Array(this.sent.length);
    this.#isHuman = options.recording?.of === 'human';
    shared.audios.set(options.leg, this);
    const { inRateHz: userRateHz, outRateHz: agentRateHz, originMs } = options;
    this.#recorder = options.recording
      ? new Recorder({ originMs, userRateHz, agentRateHz, ...options.recording }, emit)
      : null;
  }

  /** Up to where the last reply was sent; null before the first. */
  get sentPosition(): PlayoutPosition | null {
    return this.#playout.sentPosition;
  }

  /** Queues an event for the next batch. */
  emit(event: LegEvent): void {
    this.#shared.events.add(this.#leg, event);
    this.#shared.pacer.wake();
  }

  /** Executes the commands common to all transports; false for a transport's own command. */
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
            : (this.#shared.audios.get(phoneLegNumber(command.otherLegId)) ?? null),
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
   * Takes caller audio for speech detection as it arrives, before any jitter buffer; its first sample was
   * spoken at `atMs`.
   */
  hear(samples: Int16Array, atMs: number): void {
    this.#echo.hear(samples, this.#inRateHz, atMs);
    this.#voice.push(samples, atMs);
    const { clock, detector, pacer } = this.#shared;
    if (!detector.hasQueued) return;
    if (detector.gathers) pacer.wake();
    else detector.sendQueued(clock.now());
  }

  /**
   * Fills `sent` with the slot's reply and side audio, or with silence while the transport cannot send;
   * returns the number of reply samples.
   */
  fillSent(atMs: number, canSend: boolean): number {
    const count = canSend ? this.#playout.next(this.sent, atMs) : 0;
    if (!canSend) this.sent.fill(0);
    this.#agentAudio.set(this.sent);
    if (canSend) this.#side.addTo(this.sent);
    this.#echo.play(this.sent, this.#outRateHz, atMs);
    return count;
  }

  /**
   * Ends the slot: reports `received` as caller audio, passes it to a bridged leg, and records both sides.
   * `lagMs` is the time `received` spent in a jitter buffer; the recording removes that delay.
   */
  endSlot(slot: number, atMs: number, kind: FrameKind, lagMs = 0): void {
    this.#shared.events.addAudio(this.#leg, { slot, atMs, kind }, this.received);
    if (this.#bridged) this.#bridged.#side.push(BRIDGE, this.#inRateHz, this.received);
    if (this.#isRelaying)
      this.emit({ type: 'relayed', voice: this.received.slice(), sent: this.sent.slice() });
    if (!this.isEarly && (!this.#isHuman || this.#bridged || this.#isRelaying)) {
      this.#recorder?.write(slot, this.received, this.#agentAudio, Math.round(lagMs / FRAME_MS));
    }
    this.#voice.tick(this.#shared.clock.now());
  }

  /** Stops speech detection and emits the rest of the recording. */
  close(): void {
    this.#bridge(null);
    this.#shared.audios.delete(this.#leg);
    this.#voice.close();
    this.#recorder?.close();
  }

  /** Bridges two legs, or separates them. */
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
