/** The WebAssembly build of @evan/opus, which the package exports without types of its own. */
declare module '@evan/opus/wasm/index.mjs' {
  export { Decoder, Encoder } from '@evan/opus';
}
