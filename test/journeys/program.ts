/**
 * One program of the product, started as by a person, with its output and exit status; for failing starts and
 * for parts started alone.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { signalTree } from './process-tree.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/**
 * Generous, so that only a hang times out: on a machine with ten times its capacity in load, a failing start
 * took 20 s.
 */
const DEADLINE_MS = 90_000;

/** A started program of any kind. */
export class RunningProgram {
  /** Output of both streams, in order. */
  output = '';
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  /** The program has ended and its output is complete. */
  #isSilent = false;

  constructor(
    [command = '', ...words]: readonly string[],
    { cwd, env }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
  ) {
    this.#child = spawn(command, words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    // The child of a failed start never exits.
    this.#ended = once(this.#child, 'exit').catch((error: unknown) => {
      this.output += String(error);
    });
    this.#child.once('close', () => {
      this.#isSilent = true;
      this.#child.emit('printed');
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
        this.#child.emit('printed');
      });
    }
  }

  /** Its process id; null if it never started. */
  get pid(): number | null {
    return this.#child.pid ?? null;
  }

  /** It is no more: its process id may be another's. */
  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Human-readable lines: everything but the structured log. */
  get lines(): string[] {
    return this.output.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
  }

  /**
   * Waits for a line and returns the match. Throws with the output if the line does not appear or the program
   * ends without it.
   */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    const limit = AbortSignal.timeout(DEADLINE_MS);
    for (;;) {
      const found = pattern.exec(this.output);
      if (found) return found;
      if (this.#isSilent || limit.aborted)
        throw new Error(`${String(pattern)} was not printed:\n${this.output}`);
      await once(this.#child, 'printed', { signal: limit }).catch(() => undefined);
    }
  }

  /** Sends a signal to this process alone. */
  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /**
   * Sends a signal to this process and all its descendants. Once it has ended, or if it never started,
   * nothing is signalled: its id may belong to another process by now.
   */
  signalTree(name: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid !== undefined && !this.hasEnded) signalTree(pid, name);
  }

  /**
   * Waits for its end and returns the exit status; null if a signal ended it. Kills a program that does not
   * end by itself.
   */
  async ended(): Promise<number | null> {
    const limit = setTimeout(() => this.#child.kill('SIGKILL'), DEADLINE_MS);
    await this.#ended;
    clearTimeout(limit);
    return this.#child.exitCode;
  }

  /** Kills the program. */
  async close(): Promise<void> {
    if (!this.hasEnded) this.#child.kill('SIGKILL');
    await this.#ended;
  }
}

/** A started program of the product. */
export class Program extends RunningProgram {
  /**
   * Starts `main.ts` in a role as its script does, with only these settings; `root` is the folder of another
   * release, `within` a command that runs the program elsewhere, as in another network namespace.
   */
  constructor(
    role: 'all' | 'control-plane' | 'signalling' | 'worker',
    settings: Readonly<Record<string, string>>,
    root = ROOT,
    within: readonly string[] = [],
  ) {
    super([...within, join(root, 'node_modules/.bin/node'), ...optionsOf(role, root), 'main.ts', role], {
      cwd: root,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...settings },
    });
  }
}

/** Options of Node in `npm run start:<role>`: the sizes of the heap decide how often garbage is collected. */
function optionsOf(role: string, root: string): readonly string[] {
  const file = join(root, 'package.json');
  if (!existsSync(file)) return [];
  const { scripts } = JSON.parse(readFileSync(file, 'utf8'));
  const words: readonly string[] = String(scripts[`start:${role}`] ?? '').split(' ');
  return words.filter((word) => word.startsWith('--'));
}
