/** The position in a call: the sound's, or without sound one that only the slider moves. */
import type { DecodedRecording } from '../console/src/calls/decode-recording.ts';
import { element } from '../widget/dom.ts';

/** Position and playback. All times are wall times in ms. */
export class Playhead {
  readonly startMs: number;
  readonly endMs: number;
  /** Null without sound. */
  readonly #audio: HTMLAudioElement | null;
  readonly #recordingStartMs: number;
  readonly #listeners: (() => void)[] = [];
  #atMs: number;

  constructor(recording: DecodedRecording | null, startMs: number, endMs: number) {
    this.startMs = startMs;
    this.endMs = endMs;
    this.#atMs = startMs;
    this.#recordingStartMs = recording?.startMs ?? startMs;
    this.#audio = recording && element('audio', { src: recording.url, preload: 'auto' });
    this.#audio?.addEventListener('play', () => this.#follow());
    for (const event of ['pause', 'ended']) this.#audio?.addEventListener(event, () => this.#tell());
  }

  get atMs(): number {
    return this.#atMs;
  }

  get hasSound(): boolean {
    return this.#audio !== null;
  }

  get isPlaying(): boolean {
    return this.#audio !== null && !this.#audio.paused;
  }

  set speed(rate: number) {
    if (this.#audio) this.#audio.playbackRate = rate;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  goTo(atMs: number): void {
    this.#atMs = Math.min(this.endMs, Math.max(this.startMs, atMs));
    if (this.#audio) this.#audio.currentTime = Math.max(0, this.#atMs - this.#recordingStartMs) / 1_000;
    this.#tell();
  }

  async play(): Promise<void> {
    // A browser may refuse: the button then still says Play.
    await this.#audio?.play().catch(() => undefined);
  }

  pause(): void {
    this.#audio?.pause();
  }

  /** The element's own event comes only four times a second. */
  #follow(): void {
    if (!this.#audio || this.#audio.paused) return;
    this.#atMs = Math.min(this.endMs, this.#recordingStartMs + this.#audio.currentTime * 1_000);
    this.#tell();
    requestAnimationFrame(() => this.#follow());
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}
