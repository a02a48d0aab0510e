import { defineConfig } from 'vite';
import { precompressed } from '../precompressed.ts';

/**
 * Builds the browser client as an ES module, `/sdk.js`, and a separate chunk that is loaded only for sessions
 * in LiveKit rooms, `/sdk-….js`.
 */
export default defineConfig({
  root: import.meta.dirname,
  logLevel: 'warn',
  plugins: [precompressed()],
  build: {
    outDir: '../dist',
    // The output folder also contains the console's build.
    emptyOutDir: false,
    lib: { entry: 'sdk.ts', formats: ['es'], fileName: () => 'sdk.js' },
    rolldownOptions: { output: { chunkFileNames: 'sdk-[name].js' } },
  },
});
