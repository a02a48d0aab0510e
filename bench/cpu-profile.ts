/**
 * Shows where the product spends its CPU time, with `perf` (Linux): samples the stacks of all threads by
 * their own CPU clock and sorts the samples by thread and by kind of work. The product must have been started
 * with `PROFILED`, which names compiled JavaScript.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Process } from '#test/journeys/process-tree.ts';
import type { Product } from '#test/journeys/product.ts';
import { roleOf } from './load-cpu.ts';

/** Environment of a product that is profiled. */
export const PROFILED = { NODE_OPTIONS: '--perf-basic-prof' } as const;

/** An odd rate, so that the samples do not keep step with the 5 ms of the media thread. */
const SAMPLES_PER_SECOND = 4_999;
/** A profile begins this long after the last call was placed. */
const SETTLED_MS = 4_000;
const PROFILE_MS = 15_000;
const LEAST_SHOWN_MS = 0.05;

/** CPU time per second of the profile, ms, by thread and then by kind of work. */
export type CpuProfile = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** One frame of a stack: the function, and the program or library it is in. */
interface StackFrame {
  readonly name: string;
  readonly place: string;
}

/** Kinds of work. A sample belongs to the kind of the innermost of its frames that has one. */
const KINDS: readonly { readonly kind: string; readonly test: RegExp }[] = [
  { kind: 'kernel: UDP', test: /_sys_(send|recv)m?msg$|_sys_sendto$|_sys_recvfrom$/ },
  { kind: 'kernel: wake others', test: /_sys_futex$|eventfd_write/ },
  { kind: 'kernel: wait and be woken', test: /_sys_epoll_p?wait2?$|_sys_poll$|nanosleep|ret_from_fork/ },
  { kind: 'kernel: files and sockets', test: /_sys_\w+$/ },
  { kind: 'kernel: memory', test: /exc_page_fault/ },
  { kind: 'kernel: interrupts', test: /^asm_/ },
  { kind: 'garbage collection', test: /v8::internal::\w*(Heap|Scaveng|Mark|Sweep|Evacuat|GarbageCollect)/ },
  { kind: 'compiling', test: /v8::internal::(compiler|maglev|baseline|Optimiz|Compiler|TieringManager)/ },
  { kind: 'speech model', test: /onnxruntime/ },
  { kind: 'SQLite', test: /sqlite3/ },
  { kind: 'messages between threads', test: /node::worker::Message|v8::internal::Value(Des|S)erializer/ },
  { kind: 'timers and event loop', test: /^uv_|^uv__|node::Environment::RunTimers|SpinEventLoop/ },
  { kind: 'JavaScript, optimised', test: /^(JS:\*|JS:o)/ },
  { kind: 'JavaScript, compiled quickly', test: /^JS:[+^]/ },
  { kind: 'JavaScript, interpreted', test: /^JS:~|^BytecodeHandler:|Interpreter/ },
  { kind: 'JavaScript, built in', test: /^(Builtin|RegExp|Stub|Wasm):/ },
];

/**
 * Profiles the product with all its calls up, the last of which is placed in `placedMs`. Throws if `perf`
 * is not there or refuses.
 */
export async function profileCalls(product: Product, placedMs: number): Promise<CpuProfile> {
  await new Promise((resolve) => setTimeout(resolve, placedMs + SETTLED_MS));
  return await profileCpu(product.processes(), PROFILE_MS);
}

/** ms of CPU per second divided by `parts`, for each thread by kind of work. */
export function profileText(profile: CpuProfile, parts: number, of = 'per second of a call'): string {
  const sumOf = (kinds: ReadonlyMap<string, number>) => [...kinds.values()].reduce((sum, ms) => sum + ms, 0);
  const lines = [`  CPU ${of}, ms:`];
  for (const [thread, kinds] of [...profile].sort(([, one], [, other]) => sumOf(other) - sumOf(one))) {
    const total = sumOf(kinds) / parts;
    if (total < LEAST_SHOWN_MS) continue;
    lines.push(`    ${total.toFixed(2).padStart(6)}  ${thread}`);
    for (const [kind, ms] of [...kinds].sort(([, one], [, other]) => other - one))
      if (ms / parts >= LEAST_SHOWN_MS) lines.push(`    ${(ms / parts).toFixed(2).padStart(10)}  ${kind}`);
  }
  return lines.join('\n');
}

/** Profiles these processes for a time. Throws if `perf` is not there or refuses. */
export async function profileCpu(processes: readonly Process[], ms: number): Promise<CpuProfile> {
  const directory = mkdtempSync(join(tmpdir(), 'parley-profile-'));
  const file = join(directory, 'perf.data');
  try {
    const pids = processes.map(({ pid }) => pid).join(',');
    const rate = String(SAMPLES_PER_SECOND);
    await run('perf', [
      ...['record', '-q', '-e', 'cpu-clock', '-F', rate, '-g', '-o', file, '-p', pids],
      ...['--', 'sleep', String(ms / 1_000)],
    ]);
    return await readProfile(file, processes, ms);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function run(program: string, options: readonly string[]): Promise<void> {
  const child = spawn(program, options, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${program} ended with ${code}`);
}

async function readProfile(file: string, processes: readonly Process[], ms: number): Promise<CpuProfile> {
  const roles = new Map(processes.map(({ pid, commandLine }) => [String(pid), roleOf(commandLine)]));
  const profile = new Map<string, Map<string, number>>();
  const stack: StackFrame[] = [];
  let thread = '';
  const end = () => {
    if (thread === '') return;
    const kinds = profile.get(thread) ?? new Map<string, number>();
    profile.set(thread, kinds);
    const kind = kindOf(stack);
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1_000_000 / SAMPLES_PER_SECOND / ms);
    stack.length = 0;
    thread = '';
  };
  const child = spawn('perf', ['script', '-i', file, '-F', 'comm,pid,tid,ip,sym,dso'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const head = /^(\S.*?)\s+(\d+)\/(\d+)/.exec(line);
    if (head) {
      end();
      thread = `${roles.get(head[2] ?? '') ?? head[2]}: ${head[1]}`;
    } else if (line.trim() !== '') stack.push(frameOf(line));
  }
  end();
  return profile;
}

/** `    7f00 name (place)`. */
function frameOf(line: string): StackFrame {
  const text = line.trim();
  const nameAt = text.indexOf(' ') + 1;
  const placeAt = text.lastIndexOf(' (');
  return { name: text.slice(nameAt, placeAt), place: text.slice(placeAt + 2, -1) };
}

function kindOf(stack: readonly StackFrame[]): string {
  for (const { name, place } of stack)
    for (const { kind, test } of KINDS) if (test.test(name) || test.test(place)) return kind;
  return 'other';
}
