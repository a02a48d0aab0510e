import { defineConfig } from 'vite';
import { precompressed } from '../precompressed.ts';

/** Builds the widget as a classic script, `/widget.js`. */
export default defineConfig({
  root: import.meta.dirname,
  logLevel: 'warn',
  plugins: [precompressed()],
  build: {
    outDir: '../dist',
    // The output folder also contains the builds of the console and the client.
    emptyOutDir: false,
    lib: { entry: 'widget.ts', formats: ['iife'], name: 'VoiceAgentWidget', fileName: () => 'widget.js' },
  },
});
