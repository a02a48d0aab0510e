/** RMS above which recogniser stand-ins detect speech; they go by energy alone. */

const VOICED_RMS = 200;
const LEAST_VOICED_MS = 40;

/** Finds utterances in a stream of 16-bit audio by the energy of each message. */
export class Ear {
  readonly #bytesPerMs: number;
  readonly #endpointingMs: number;
  heardMs = 0;
  voicedMs = 0;
  utteranceStartMs = 0;
  #silentMs = 0;
  #reportedMs = 0;

  constructor(rateHz: number, endpointingMs: number) {
    this.#bytesPerMs = (rateHz * 2) / 1_000;
    this.#endpointingMs = endpointingMs;
  }

  get hasSpeech(): boolean {
    return this.voicedMs >= LEAST_VOICED_MS;
  }

  /** Returns `speaking` about every 200 ms of voice, and `ended` after the silence that ends an utterance. */
  hear(audio: Buffer): 'speaking' | 'ended' | null {
    const ms = audio.length / this.#bytesPerMs;
    this.heardMs += ms;
    if (rmsOf(audio) > VOICED_RMS) {
      this.voicedMs += ms;
      this.#silentMs = 0;
      if (!this.hasSpeech || this.voicedMs - this.#reportedMs < 200) return null;
      this.#reportedMs = this.voicedMs;
      return 'speaking';
    }
    this.#silentMs += ms;
    return this.hasSpeech && this.#silentMs >= this.#endpointingMs ? 'ended' : null;
  }

  reset(): void {
    this.voicedMs = 0;
    this.#silentMs = 0;
    this.#reportedMs = 0;
    this.utteranceStartMs = this.heardMs;
  }
}

function rmsOf(audio: Buffer): number {
  let sum = 0;
  const count = audio.length >> 1;
  for (let index = 0; index < count; index++) sum += audio.readInt16LE(2 * index) ** 2;
  return Math.sqrt(sum / Math.max(1, count));
}
