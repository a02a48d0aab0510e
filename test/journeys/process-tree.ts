/**
 * The processes of a running product, read from /proc: their identity, CPU time, wake-ups and memory; and
 * signals.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** Kernel ticks per second of CPU accounting; 100 on every Linux that runs Node. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4_096;

/** One process. */
export interface Process {
  readonly pid: number;
  readonly commandLine: string;
}

/** A process and all its descendants; empty when it has ended. */
export function processTree(rootPid: number): Process[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = Number(statOf(Number(name))?.[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const found: Process[] = [];
  const visit = (pid: number) => {
    const commandLine = read(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ').trim();
    if (commandLine !== undefined) found.push({ pid, commandLine });
    for (const child of children.get(pid) ?? []) visit(child);
  };
  visit(rootPid);
  return found;
}

/** Total user and system CPU time of these processes, seconds. */
export function cpuSeconds(processes: readonly Process[]): number {
  return processes.reduce((sum, { pid }) => {
    const stat = statOf(pid);
    return sum + (Number(stat?.[11] ?? 0) + Number(stat?.[12] ?? 0)) / TICKS_PER_SECOND;
  }, 0);
}

/** The cores, or the share of one, that the processes use in the next `ms`. */
export async function usedCores(processes: readonly Process[], ms: number): Promise<number> {
  const before = { atMs: performance.now(), seconds: cpuSeconds(processes) };
  await new Promise((resolve) => setTimeout(resolve, ms));
  return (1_000 * (cpuSeconds(processes) - before.seconds)) / (performance.now() - before.atMs);
}

/** CPU time of a thread, seconds. */
export interface ThreadUse {
  readonly pid: number;
  readonly id: string;
  /** Of a pool, all threads have the same name. */
  readonly name: string;
  readonly seconds: number;
  /** Of these, in the kernel. */
  readonly kernelSeconds: number;
  /** How often it has waited for something and was woken up by it. */
  readonly wakeUps: number;
}

/** The threads of these processes and what each has used so far. */
export function threadUses(processes: readonly Process[]): ThreadUse[] {
  return processes.flatMap(({ pid }) =>
    threadsOf(pid).map((id) => {
      const [user = 0, kernel = 0] = (fieldsOf(`/proc/${pid}/task/${id}/stat`) ?? [])
        .slice(11, 13)
        .map((ticks) => Number(ticks) / TICKS_PER_SECOND);
      const name = read(`/proc/${pid}/task/${id}/comm`)?.trim() ?? '';
      return { pid, id, name, seconds: user + kernel, kernelSeconds: kernel, wakeUps: wakeUpsOf(pid, id) };
    }),
  );
}

/** How often the threads of these processes have waited for something so far, and were woken up by it. */
export function wakeUps(processes: readonly Process[]): number {
  const counts = processes.flatMap(({ pid }) => threadsOf(pid).map((thread) => wakeUpsOf(pid, thread)));
  return counts.reduce((sum, count) => sum + count, 0);
}

function wakeUpsOf(pid: number, thread: string): number {
  const status = read(`/proc/${pid}/task/${thread}/status`) ?? '';
  return Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1] ?? 0);
}

/** Resident memory of these processes, bytes. */
export function residentBytes(processes: readonly Process[]): number {
  return processes.reduce(
    (sum, { pid }) => sum + Number(read(`/proc/${pid}/statm`)?.split(' ')[1] ?? 0) * PAGE_BYTES,
    0,
  );
}

/** Memory of these processes, bytes; a page that several processes share is divided among them. */
export function proportionalBytes(processes: readonly Process[]): number {
  return processes.reduce(
    (sum, { pid }) =>
      sum + Number(/^Pss: +(\d+) kB$/m.exec(read(`/proc/${pid}/smaps_rollup`) ?? '')?.[1] ?? 0) * 1_024,
    0,
  );
}

/** True if a process exists and is not a zombie. */
export function isRunning(pid: number): boolean {
  const state = statOf(pid)?.[0];
  return state !== undefined && state !== 'Z';
}

/**
 * Signals a process that may have ended already. Process ids are not reused so soon, so the signal cannot hit
 * another process. Throws for 1, 0 and below, which mean init, groups and everything.
 */
export function signalProcess(pid: number, name: NodeJS.Signals): void {
  refuseWhatIsNotOurs(pid);
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Signals a process and all its descendants; throws like `signalProcess`. */
export function signalTree(rootPid: number, name: NodeJS.Signals): void {
  refuseWhatIsNotOurs(rootPid);
  for (const { pid } of processTree(rootPid)) signalProcess(pid, name);
}

function refuseWhatIsNotOurs(pid: number): void {
  if (pid <= 1) throw new Error(`process ${pid} is not one of the product`);
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** Fields of /proc/<pid>/stat from the state on (proc(5): field 3 is index 0). */
function statOf(pid: number): readonly string[] | undefined {
  return fieldsOf(`/proc/${pid}/stat`);
}

function fieldsOf(path: string): readonly string[] | undefined {
  const stat = read(path);
  // The name in parentheses may contain spaces.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
