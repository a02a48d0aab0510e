/** A part of the fleet, which can be stopped, killed, hung and started again. */
import { readdirSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import type { RunningProgram } from '../journeys/program.ts';

/** Callers, stand-ins and the servers of others come before every part: they have machines of their own. */
const SURROUNDINGS_NICE = -15;
const STARTING_NICE = 10;
/**
 * Begins the command of a part that leaves the processors to the calls while it loads its modules: it would
 * start on a machine of its own, beside the calls of that machine alone. Relative to the surroundings.
 */
export const GIVES_WAY = ['nice', '-n', String(STARTING_NICE - SURROUNDINGS_NICE)];

/** Prefers this process and all that it starts, except for parts. */
export function preferSurroundings(): void {
  setPriority(SURROUNDINGS_NICE);
}

export class Part {
  readonly name: string;
  readonly #start: () => RunningProgram;
  readonly #ready: RegExp;
  /** All its programs so far, the current one last. */
  readonly #programs: RunningProgram[] = [];

  /** `ready` is what it prints once it works. */
  constructor(name: string, ready: RegExp, start: () => RunningProgram) {
    this.name = name;
    this.#ready = ready;
    this.#start = start;
  }

  /** Everything it has printed. */
  get output(): string {
    return this.#programs.map((program) => program.output).join('');
  }

  get isRunning(): boolean {
    return this.#programs.at(-1)?.hasEnded === false;
  }

  /** Starts it, after its end also again; resolves when it works. */
  async start(): Promise<void> {
    const program = this.#start();
    this.#programs.push(program);
    await program.printed(this.#ready);
    if (program.pid !== null) treatAsOthers(program.pid);
  }

  /** Waits until the current program prints something. */
  async printed(pattern: RegExp): Promise<void> {
    await this.#programs.at(-1)?.printed(pattern);
  }

  /** Stops it as a deploy does; resolves when it has ended. */
  async stop(): Promise<void> {
    const program = this.#programs.at(-1);
    program?.signal('SIGTERM');
    await program?.ended();
  }

  /** Sends a signal to it and everything it has started. */
  signal(name: NodeJS.Signals): void {
    this.#programs.at(-1)?.signalTree(name);
  }

  /** Ends it without a chance to say so; resolves when it is gone. */
  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.#programs.at(-1)?.close();
  }
}

/** Ends the giving way of those threads that have not chosen a priority themselves. */
function treatAsOthers(pid: number): void {
  for (const thread of readdirSync(`/proc/${pid}/task`).map(Number))
    try {
      if (getPriority(thread) === STARTING_NICE) setPriority(thread, 0);
    } catch {
      // It has ended.
    }
}
