/**
 * The parts of WebAssembly that `flite-wasi.ts` uses: neither the ES library nor Node's types declare them,
 * and those of the DOM would declare a browser.
 */
declare namespace WebAssembly {
  type ModuleImports = Record<string, unknown>;
  class Module {
    constructor(bytes: Uint8Array);
  }
  class Instance {
    constructor(module: Module, imports: Record<string, ModuleImports>);
    readonly exports: Readonly<Record<string, unknown>>;
  }
  class Memory {
    readonly buffer: ArrayBuffer;
  }
}
