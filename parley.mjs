#!/usr/bin/env node
/**
 * `npx parley …`: starts the command line (cli/main.ts). If the installed Node is too old, uses the one that
 * is installed with this product.
 */
import { spawn } from 'node:child_process';
import module, { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';

const OWN_NODE_FROM = 24;
const main = join(import.meta.dirname, 'cli/main.ts');
// Caches compiled code, because compiling takes more than half of a command's time. Uses the same directory
// as the product (main.ts).
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules', '.cache', 'parley');
const isPackage = import.meta.dirname.includes(`${sep}node_modules${sep}`);
const stripTypes = pathToFileURL(join(import.meta.dirname, 'strip-types.mjs')).href;
// Inherited by every process and thread that is started from here.
if (isPackage)
  process.env['NODE_OPTIONS'] = [
    process.env['NODE_OPTIONS'] ?? '',
    `--disable-warning=ExperimentalWarning --import ${stripTypes}`,
  ]
    .join(' ')
    .trim();

if (Number.parseInt(process.versions.node, 10) >= OWN_NODE_FROM && !isPackage) {
  module.enableCompileCache(process.env['NODE_COMPILE_CACHE']);
  await import(main);
} else {
  const child = spawn(nodeToUse(), [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  // Ctrl-C reaches the command itself; this process only waits for it.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('error', () => {
    console.error('The package `node` is missing: run `npm ci` in the folder of this product.');
    process.exit(1);
  });
  child.on('exit', (code) => process.exit(code ?? 1));
}

function nodeToUse() {
  if (Number.parseInt(process.versions.node, 10) >= OWN_NODE_FROM) return process.execPath;
  try {
    const found = createRequire(import.meta.url).resolve('node/package.json');
    return join(dirname(found), 'bin', 'node');
  } catch {
    return join(import.meta.dirname, 'node_modules', 'node', 'bin', 'node');
  }
}
