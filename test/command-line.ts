/** Runs Parley's command line in its own process, as a person would; returns its exit code and output. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

const PROGRAM = resolve(import.meta.dirname, '../parley.mjs');

/** Result of a run: its exit code (null after a signal), standard output and standard error. */
export interface CommandLineResult {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Working directory and environment of a run, and the output after which Ctrl-C is sent. */
export interface CommandLineRun {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly interruptAt?: string;
}

/** Runs `parley ...args` in the folder, with this environment and only the `PATH` of the tests. */
export async function runParley(
  args: readonly string[],
  { folder, environment, interruptAt }: CommandLineRun,
): Promise<CommandLineResult> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], ...environment },
  });
  const printed = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const hadIt = interruptAt === undefined || printed.out.includes(interruptAt);
    printed.out += text;
    if (!hadIt && printed.out.includes(interruptAt)) child.kill('SIGINT');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed.err += text;
  });
  const [code] = await once(child, 'close');
  return { code, ...printed };
}
