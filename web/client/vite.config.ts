import { defineConfig } from 'vite';

/** Builds the browser client as one ES module, `/sdk.js`. */
export default defineConfig({
  root: import.meta.dirname,
  logLevel: 'warn',
  build: {
    outDir: '../dist',
    // The console's build stands in the same folder.
    emptyOutDir: false,
    lib: { entry: 'sdk.ts', formats: ['es'], fileName: () => 'sdk.js' },
  },
});
