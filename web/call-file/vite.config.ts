import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, type Plugin } from 'vite';
import { precompressed } from '../precompressed.ts';

/** Builds the page of exported calls as one file, `call-file.html`, which the control plane fills. */
export default defineConfig({
  root: import.meta.dirname,
  logLevel: 'warn',
  plugins: [inlined(), precompressed()],
  build: {
    outDir: '../dist',
    // The output folder also contains the builds of the console and the client.
    emptyOutDir: false,
    lib: { entry: 'main.ts', formats: ['iife'], name: 'CallFile', fileName: () => 'call-file.js' },
  },
});

/** Replaces the script by a page that contains it, and runs nothing else. */
function inlined(): Plugin {
  return {
    name: 'inlined',
    apply: 'build',
    generateBundle(_options, bundle) {
      const output = bundle['call-file.js'];
      if (output?.type !== 'chunk') throw new Error('the script of call files was not built');
      delete bundle['call-file.js'];
      const read = (file: string) => readFileSync(join(import.meta.dirname, file), 'utf8');
      // Inside a string or a pattern a backslash before these changes nothing; elsewhere they do not occur.
      const script = output.code.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
      const style = read('styles.css');
      const policy =
        `default-src 'none'; script-src '${hashOf(script)}'; style-src '${hashOf(style)}'; ` +
        "media-src blob:; base-uri 'none'; form-action 'none'";
      const page = read('page.html')
        .replace('%policy%', () => policy)
        .replace('%style%', () => style)
        .replace('%script%', () => script);
      this.emitFile({ type: 'asset', fileName: 'call-file.html', source: page });
    },
  };
}

/** A source of Content Security Policy Level 3 §2.3.1. */
function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
