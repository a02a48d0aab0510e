#!/usr/bin/env node
/** `npx parley …`: starts the command line (deploy/cli/main.ts) on the Node this product brings with it, whichever Node the machine has. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';

const node = join(import.meta.dirname, 'node_modules', 'node', 'bin', 'node');
const child = spawn(node, [join(import.meta.dirname, 'deploy', 'cli', 'main.ts'), ...process.argv.slice(2)], { stdio: 'inherit' });
// Ctrl-C reaches the command itself; this process only waits for it.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => child.kill('SIGTERM'));
child.on('error', () => {
  console.error('The Node of this product is missing: run `npm ci` in its folder.');
  process.exit(1);
});
child.on('exit', (code) => process.exit(code ?? 1));
