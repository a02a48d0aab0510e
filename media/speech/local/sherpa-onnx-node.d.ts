/** The part of sherpa-onnx-node (which has no types) that the processes of the models use. */
declare module 'sherpa-onnx-node' {
  export interface OnlineStream {
    acceptWaveform(waveform: { readonly samples: Float32Array; readonly sampleRate: number }): void;
  }
  export interface OnlineRecognizerConfig {
    readonly featConfig: { readonly sampleRate: number; readonly featureDim: number };
    readonly modelConfig: {
      readonly transducer: { readonly encoder: string; readonly decoder: string; readonly joiner: string };
      readonly tokens: string;
      readonly numThreads: number;
      readonly provider: 'cpu';
      readonly debug: 0 | 1;
    };
    readonly enableEndpoint: 0 | 1;
  }
  export class OnlineRecognizer {
    constructor(config: OnlineRecognizerConfig);
    createStream(): OnlineStream;
    isReady(stream: OnlineStream): boolean;
    decode(stream: OnlineStream): void;
    isEndpoint(stream: OnlineStream): boolean;
    reset(stream: OnlineStream): void;
    getResult(stream: OnlineStream): { readonly text: string };
  }
  export interface OfflineTtsConfig {
    readonly model: {
      readonly vits: { readonly model: string; readonly tokens: string; readonly lexicon: string };
      readonly numThreads: number;
      readonly provider: 'cpu';
      readonly debug: 0 | 1;
    };
    readonly maxNumSentences: number;
  }
  class OfflineTts {
    constructor(config: OfflineTtsConfig);
    generate(request: {
      readonly text: string;
      readonly sid: number;
      readonly speed: number;
      readonly enableExternalBuffer: boolean;
    }): { readonly samples: Float32Array; readonly sampleRate: number };
  }
  /** Node finds not all names of this CommonJS module. */
  const sherpa: { readonly OfflineTts: typeof OfflineTts };
  // biome-ignore lint/style/noDefaultExport: it is the package's own.
  export default sherpa;
}
