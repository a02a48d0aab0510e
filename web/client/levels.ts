/** Loudness of the two directions of a conversation, read from analysers when asked. */

/** Watches streams; 0 where there is none. */
export class Levels {
  #context: AudioContext | null = null;
  #input: AnalyserNode | null = null;
  #output: AnalyserNode | null = null;

  watchInput(stream: MediaStream): void {
    this.#input = this.#analyse(stream);
  }

  watchOutput(stream: MediaStream): void {
    this.#output = this.#analyse(stream);
  }

  input(): number {
    return loudness(this.#input);
  }

  output(): number {
    return loudness(this.#output);
  }

  close(): void {
    void this.#context?.close();
  }

  #analyse(stream: MediaStream): AnalyserNode {
    this.#context ??= new AudioContext();
    const analyser = this.#context.createAnalyser();
    analyser.fftSize = 512;
    this.#context.createMediaStreamSource(stream).connect(analyser);
    return analyser;
  }
}

function loudness(analyser: AnalyserNode | null): number {
  if (!analyser) return 0;
  const samples = new Float32Array(analyser.fftSize);
  analyser.getFloatTimeDomainData(samples);
  const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
  return Math.min(1, Math.sqrt(power) * 4);
}
