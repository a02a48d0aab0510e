#!/usr/bin/env node
/**
 * `npx parley …`: starts the command line (cli/main.ts). If the installed Node is too old, uses the one that
 * `npm ci` installs with this product.
 */
import { spawn } from 'node:child_process';
import module from 'node:module';
import { join } from 'node:path';

const OWN_NODE_FROM = 24;
const main = join(import.meta.dirname, 'cli/main.ts');
// Caches compiled code, because compiling takes more than half of a command's time. Uses the same directory
// as the product (main.ts).
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules', '.cache', 'parley');

if (Number.parseInt(process.versions.node, 10) >= OWN_NODE_FROM) {
  module.enableCompileCache(process.env['NODE_COMPILE_CACHE']);
  await import(main);
} else {
  const node = join(import.meta.dirname, 'node_modules', 'node', 'bin', 'node');
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  // Ctrl-C reaches the command itself; this process only waits for it.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('error', () => {
    console.error('node_modules/node is missing: run `npm ci` in the folder of this product.');
    process.exit(1);
  });
  child.on('exit', (code) => process.exit(code ?? 1));
}
