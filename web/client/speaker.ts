/** Playback of the agent's voice: an audio element outside the page, with its volume and output device. */

/** Plays one stream at a time. */
export class Speaker {
  readonly #player = new Audio();

  constructor() {
    this.#player.autoplay = true;
  }

  play(stream: MediaStream): void {
    this.#player.srcObject = stream;
    // Browsers may block playback before the first click; `resume` starts it later.
    this.#player.play().catch(() => undefined);
  }

  /**
   * Starts playback that the browser blocked; call it from a click handler. Rejects if the browser still
   * refuses.
   */
  async resume(): Promise<void> {
    if (this.#player.srcObject !== null) await this.#player.play();
  }

  /** 0 to 1; other values are clamped. */
  setVolume(volume: number): void {
    this.#player.volume = Math.min(1, Math.max(0, volume));
  }

  /** Rejects if the device is gone or the browser cannot select output devices. */
  async setDevice(deviceId: string): Promise<void> {
    await this.#player.setSinkId(deviceId);
  }

  close(): void {
    this.#player.srcObject = null;
  }
}
