/**
 * Detects when the machine under a benchmark stalled. A host that shares its processors takes them away for
 * tens of milliseconds at a time; a sample taken during a stall says nothing about the product. A probe of
 * the highest priority on every core detects stalls; the product cannot delay it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

const PROBE = join(import.meta.dirname, 'stall-probe-process.ts');

/** Time in which a core ran nothing, ms since 1970. */
export interface Stall {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Times when a core stalled. Each stall counts for twice its length, to include the time for catching up. */
export class MachineStalls {
  readonly #spans: readonly Stall[];

  constructor(stalls: readonly Stall[]) {
    const spans: { fromMs: number; toMs: number }[] = [];
    for (const { fromMs, toMs } of [...stalls].sort((a, b) => a.fromMs - b.fromMs)) {
      const last = spans.at(-1);
      const endMs = toMs + (toMs - fromMs);
      if (last && fromMs <= last.toMs) last.toMs = Math.max(last.toMs, endMs);
      else spans.push({ fromMs, toMs: endMs });
    }
    this.#spans = spans;
  }

  /** Disturbed time within an interval, ms. */
  within(fromMs: number, toMs: number): number {
    let [low, high] = [0, this.#spans.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#spans[middle]?.toMs ?? 0) <= fromMs) low = middle + 1;
      else high = middle;
    }
    let sum = 0;
    for (let index = low; index < this.#spans.length; index++) {
      const span = this.#spans[index];
      if (!span || span.fromMs >= toMs) break;
      sum += Math.min(span.toMs, toMs) - Math.max(span.fromMs, fromMs);
    }
    return sum;
  }
}

/** A running watch. */
export interface StallWatch {
  /**
   * Stops watching. Returns null if this user may not set such priorities, because stalls are then unknown.
   */
  stop(): Promise<MachineStalls | null>;
}

/** Watches every core. Resolves once all cores are watched, or none can be. */
export async function watchStalls(): Promise<StallWatch> {
  const stalls: Stall[] = [];
  const probes = await Promise.all(
    Array.from({ length: availableParallelism() }, (_, core) =>
      startProbe(core, (stall) => stalls.push(stall)),
    ),
  );
  return {
    async stop() {
      const running = probes.filter((probe) => probe !== null);
      await Promise.all(running.map(end));
      return running.length === probes.length ? new MachineStalls(stalls) : null;
    },
  };
}

async function startProbe(core: number, onStall: (stall: Stall) => void): Promise<ChildProcess | null> {
  const child = spawn(
    'chrt',
    ['--fifo', '50', 'taskset', '--cpu-list', String(core), process.execPath, PROBE],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const isRunning = new Promise<boolean>((resolve) => {
    let rest = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      resolve(true);
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const [fromMs, toMs] = line.split(' ').map(Number);
        if (fromMs && toMs) onStall({ fromMs, toMs });
      }
    });
    child.once('error', () => resolve(false));
    child.once('exit', () => resolve(false));
  });
  return (await isRunning) ? child : null;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'close');
  child.kill('SIGKILL');
  await closed;
}
