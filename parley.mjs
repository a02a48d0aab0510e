#!/usr/bin/env node
/**
 * `npx parley …`: the command line (cli/main.ts), on the Node this product brings with it where the machine's
 * own is too old to run it.
 */
import { spawn } from 'node:child_process';
import module from 'node:module';
import { join } from 'node:path';

const OWN_NODE_FROM = 24;
const main = join(import.meta.dirname, 'cli/main.ts');
// Compiling is more than half of a command's time: what was compiled is kept, in the place of the product's
// own (main.ts).
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules', '.cache', 'parley');

if (Number.parseInt(process.versions.node, 10) >= OWN_NODE_FROM) {
  module.enableCompileCache(process.env['NODE_COMPILE_CACHE']);
  await import(main);
} else {
  const child = spawn(join(import.meta.dirname, 'node_modules', 'node', 'bin', 'node'), [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  // Ctrl-C reaches the command itself; this process only waits for it.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('error', () => {
    console.error('The Node of this product is missing: run `npm ci` in its folder.');
    process.exit(1);
  });
  child.on('exit', (code) => process.exit(code ?? 1));
}
