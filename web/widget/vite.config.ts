import { defineConfig } from 'vite';
import { precompressed } from '../precompressed.ts';

/** Builds the widget as one classic script, `/widget.js`. */
export default defineConfig({
  root: import.meta.dirname,
  logLevel: 'warn',
  plugins: [precompressed()],
  build: {
    outDir: '../dist',
    // The console's and the client's builds stand in the same folder.
    emptyOutDir: false,
    lib: { entry: 'widget.ts', formats: ['iife'], name: 'VoiceAgentWidget', fileName: () => 'widget.js' },
  },
});
