/** The part of eSpeak NG's WebAssembly build (which has no types) that `program.ts` calls. */
declare module '@echogarden/espeak-ng-emscripten' {
  export interface EspeakEvent {
    readonly type:
      | 'sentence'
      | 'word'
      | 'phoneme'
      | 'end'
      | 'mark'
      | 'play'
      | 'msg_terminated'
      | 'list_terminated'
      | 'samplerate';
    /** Milliseconds since the start of the synthesis. */
    readonly audio_position: number;
    /** Position of the character, from 1. */
    readonly text_position: number;
    readonly word_length: number;
  }
  interface Espeak {
    /** Nonzero: the voice does not exist. */
    set_voice(code: string): number;
    /** Words per minute. */
    set_rate(rate: number): number;
    /** Blocks until done; the samples are valid only during the call. `text` is SSML. */
    synthesize(
      text: string,
      onChunk: (samples: Int16Array | null, events: readonly EspeakEvent[]) => void,
    ): void;
  }
  const initialise: () => Promise<{ readonly eSpeakNGWorker: new () => Espeak }>;
  // biome-ignore lint/style/noDefaultExport: the package's own
  export default initialise;
}
