/**
 * The WebAssembly build of @evan/opus, which the package exports without types. It lacks the properties of
 * the native build: settings go through `ctl`.
 */
declare module '@evan/opus/wasm/index.mjs' {
  export interface Rate {
    readonly channels: 1 | 2;
    readonly sample_rate: 8_000 | 12_000 | 16_000 | 24_000 | 48_000;
  }
  export class Encoder {
    constructor(options: Rate & { readonly application: 'voip' | 'audio' });
    encode(samples: Int16Array): Uint8Array;
    /**
     * `opus_encoder_ctl`. Returns the requested value, or 0 after setting one. Throws for a request that
     * libopus refuses.
     */
    ctl(request: number, value?: number): number;
  }
  export class Decoder {
    constructor(options: Rate);
    decode(payload: Uint8Array): Uint8Array;
  }
}
