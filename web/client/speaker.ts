/** Where the agent's voice is heard: an audio element that is on no page, its volume and its device. */

/** Plays one stream at a time. */
export class Speaker {
  readonly #player = new Audio();

  constructor() {
    this.#player.autoplay = true;
  }

  play(stream: MediaStream): void {
    this.#player.srcObject = stream;
    // A page without a click may not play yet; `resume` is for that.
    this.#player.play().catch(() => undefined);
  }

  /** Starts what the browser held back; call it from a click. Rejects while the browser still refuses. */
  async resume(): Promise<void> {
    if (this.#player.srcObject !== null) await this.#player.play();
  }

  /** 0 to 1; what lies outside is brought inside. */
  setVolume(volume: number): void {
    this.#player.volume = Math.min(1, Math.max(0, volume));
  }

  /** Rejects where the device is gone or the browser cannot choose one. */
  async setDevice(deviceId: string): Promise<void> {
    await this.#player.setSinkId(deviceId);
  }

  close(): void {
    this.#player.srcObject = null;
  }
}
