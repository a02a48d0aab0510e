/** Loudness and spectrum of both directions of a conversation, read from analysers on demand. */

/** Direction of the audio. */
export type Direction = 'input' | 'output';

const NO_FREQUENCIES = new Uint8Array(0);

/** Analyses streams; a direction without a stream counts as silent. */
export class Levels {
  #context: AudioContext | null = null;
  readonly #watched = new Map<
    Direction,
    { readonly source: MediaStreamAudioSourceNode; readonly analyser: AnalyserNode }
  >();

  /** Analyses this stream in place of the previous one. */
  watch(direction: Direction, stream: MediaStream): void {
    this.#watched.get(direction)?.source.disconnect();
    this.#context ??= new AudioContext();
    const analyser = this.#context.createAnalyser();
    analyser.fftSize = 512;
    const source = this.#context.createMediaStreamSource(stream);
    source.connect(analyser);
    this.#watched.set(direction, { source, analyser });
  }

  /** 0 to 1. */
  volume(direction: Direction): number {
    const analyser = this.#watched.get(direction)?.analyser;
    if (!analyser) return 0;
    const samples = new Float32Array(analyser.fftSize);
    analyser.getFloatTimeDomainData(samples);
    const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
    return Math.min(1, Math.sqrt(power) * 4);
  }

  /** 256 bins from 0 Hz to half the device's sample rate, 0 to 255 each; empty without a stream. */
  frequencies(direction: Direction): Uint8Array {
    const analyser = this.#watched.get(direction)?.analyser;
    if (!analyser) return NO_FREQUENCIES;
    const bins = new Uint8Array(analyser.frequencyBinCount);
    analyser.getByteFrequencyData(bins);
    return bins;
  }

  /** Resumes audio that the browser blocked until a click. */
  async resume(): Promise<void> {
    await this.#context?.resume();
  }

  close(): void {
    this.#watched.clear();
    void this.#context?.close();
    this.#context = null;
  }
}
