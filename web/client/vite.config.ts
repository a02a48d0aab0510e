import { defineConfig } from 'vite';
import { precompressed } from '../precompressed.ts';

/**
 * Builds the browser client as an ES module, `/sdk.js`, and beside it what it loads only for sessions in
 * LiveKit rooms, `/sdk-….js`.
 */
export default defineConfig({
  root: import.meta.dirname,
  logLevel: 'warn',
  plugins: [precompressed()],
  build: {
    outDir: '../dist',
    // The console's build stands in the same folder.
    emptyOutDir: false,
    lib: { entry: 'sdk.ts', formats: ['es'], fileName: () => 'sdk.js' },
    rolldownOptions: { output: { chunkFileNames: 'sdk-[name].js' } },
  },
});
