import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { precompressed } from '../precompressed.ts';

/** Builds the console, served at `/`. */
export default defineConfig({
  root: import.meta.dirname,
  logLevel: 'warn',
  plugins: [react(), precompressed()],
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    // The tokenizer's vocabulary, loaded when a prompt is edited, has an irreducible 2 MB.
    chunkSizeWarningLimit: 2_200,
  },
});
