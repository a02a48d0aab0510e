/**
 * Operating-system features that Node does not cover, each with a fallback. No other file of the server knows
 * the system (`npm run check:house`); docs/platforms.md says what runs where.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { getPriority, setPriority, tmpdir } from 'node:os';
import { basename } from 'node:path';
import process from 'node:process';

/** A switch for tests: `plain` disables them all. */
const SWITCH = 'PARLEY_TEST_PLATFORM';
const isPlain = process.env[SWITCH] === 'plain';
const isLinux = !isPlain && process.platform === 'linux';
const isPosix = !isPlain && process.platform !== 'win32';

/** The switch for a child process that does not get our environment. */
export const platformSwitch: Readonly<Record<string, string>> = isPlain ? { [SWITCH]: 'plain' } : {};

/** A warning for the log of a process that was started with the switch; else null. */
export const platformWarning: string | null = isPlain
  ? `${SWITCH}=plain, a switch for tests: every fallback for a missing feature of the system is in use`
  : null;

/** Where distributions have jemalloc: Debian and its relatives, Fedora and its relatives, others. */
const JEMALLOC_FILES = [
  `/usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/libjemalloc.so.2`,
  '/usr/lib64/libjemalloc.so.2',
  '/usr/lib/libjemalloc.so.2',
];

/**
 * For a process that is started: freed memory returns to the system.
 *
 * glibc (mallopt(3)) by default raises its thresholds with each large block that is freed. A start frees
 * blocks of megabytes, and what is freed after them would stay with the process. Setting the initial values
 * keeps them. Even so, thousands of calls leave holes between small blocks that last, which glibc keeps. So
 * jemalloc is used where it is installed, unless `LD_PRELOAD` is set, even to nothing.
 */
export const allocatorEnvironment: Readonly<Record<string, string>> = isLinux
  ? {
      MALLOC_MMAP_THRESHOLD_: String(128 * 1024),
      MALLOC_TRIM_THRESHOLD_: String(128 * 1024),
      ...jemallocEnvironment(process.env, existsSync),
    }
  : {};

/** Loads jemalloc if one of its files exists. */
export function jemallocEnvironment(
  { LD_PRELOAD: given, MALLOC_CONF: options }: Readonly<Record<string, string | undefined>>,
  exists: (file: string) => boolean,
): Record<string, string> {
  const preload = given ?? JEMALLOC_FILES.find(exists);
  if (preload === undefined) return {};
  // A process without work frees nothing: a thread of jemalloc returns memory then (jemalloc(3)).
  return { LD_PRELOAD: preload, MALLOC_CONF: options ?? 'background_thread:true,dirty_decay_ms:1000' };
}

/** True where a socket can be a file that only its owner may use. */
export const hasUnixSockets = isPosix;

/**
 * Longest path of a Unix socket: `sun_path` has 108 bytes on Linux (unix(7)) and 104 on macOS, its terminator
 * included.
 */
export const MAX_SOCKET_PATH_BYTES = isLinux ? 107 : 103;

/**
 * Sets the CPU priority of the calling thread, as a nice value. Has no effect if not permitted, nor on
 * systems other than Linux, where it would apply to the whole process.
 */
export function setThreadPriority(priority: number): void {
  if (!isLinux) return;
  try {
    setPriority(priority);
  } catch {
    // This user may not: the thread runs normally.
  }
}

/**
 * Gives every thread of this process with one priority another one, those of native libraries included. Has
 * no effect where `setThreadPriority` has none.
 */
export function replaceThreadPriority(from: number, to: number): void {
  for (const thread of threadsOfThisProcess()) {
    try {
      if (getPriority(thread) === from) setPriority(thread, to);
    } catch {
      // It has ended, or this user may not.
    }
  }
}

function threadsOfThisProcess(): number[] {
  if (!isLinux) return [];
  try {
    return readdirSync('/proc/self/task').map(Number);
  } catch {
    // No /proc.
    return [];
  }
}

/**
 * Gives the calling thread real-time scheduling (`SCHED_RR`, sched(7)), which the threads it starts do not
 * inherit. Node cannot request it, but `chrt` (util-linux) can. Has no effect if that is missing or not
 * permitted.
 */
export function scheduleThreadInRealTime(): void {
  if (!isLinux) return;
  try {
    const thread = basename(readlinkSync('/proc/thread-self'));
    spawnSync('chrt', ['--reset-on-fork', '--rr', '--pid', '1', thread], { stdio: 'ignore' });
  } catch {
    // No /proc: the thread runs normally.
  }
}

/**
 * Sets the priority of a process that was started in a session of its own. If Linux groups processes by
 * session (sched(7), autogroup), CPU time is first shared among sessions: a thread's priority counts only
 * within its own session, and the busiest other process gets as much as this whole one.
 */
export async function setSessionPriority(pid: number, priority: number): Promise<void> {
  if (!isLinux) return;
  // Not grouped, not permitted, or already ended: it runs normally.
  await writeFile(`/proc/${pid}/autogroup`, String(priority)).catch(() => undefined);
}

/** Priority of the session of a process, as set with `setSessionPriority`; null if the system has none. */
export async function sessionPriority(pid: number): Promise<number | null> {
  if (!isLinux) return null;
  const text = await readFile(`/proc/${pid}/autogroup`, 'utf8').catch(() => '');
  const [, nice] = / nice (-?\d+)/.exec(text) ?? [];
  return nice === undefined ? null : Number(nice);
}

/** Where the main thread of a process has spent its time, as the kernel counts it. */
export interface MainThreadTimes {
  /** On a processor, ms. */
  readonly ranMs: number;
  /** Ready to run, without a processor, ms. A wait is added when it ends, so one that lasts is missing. */
  readonly waitedMs: number;
  /**
   * At this moment: `runnable` has a processor or waits for one, `blocked` waits within the kernel, such as
   * for a disk or for memory, where no signal ends it; `sleeping` is everything else, also a stopped process.
   */
  readonly state: 'runnable' | 'blocked' | 'sleeping';
}

const STATES: Readonly<Record<string, MainThreadTimes['state']>> = { R: 'runnable', D: 'blocked' };

/**
 * Times of the main thread of a process; null if the system does not report them (Linux does: `schedstat`
 * and `stat` of proc(5)).
 */
export function mainThreadTimes(pid: number): MainThreadTimes | null {
  if (!isLinux) return null;
  try {
    const [schedstat, stat] = ['schedstat', 'stat'].map((name) =>
      readFileSync(`/proc/${pid}/task/${pid}/${name}`, 'utf8'),
    );
    return timesFrom(schedstat ?? '', stat ?? '');
  } catch {
    return null;
  }
}

/**
 * Times in the text of these two files; null if the kernel does not count them. One without scheduler
 * statistics writes zeros, by which an endless loop would never run.
 */
export function timesFrom(schedstat: string, stat: string): MainThreadTimes | null {
  const [ranMs = 0, waitedMs = 0] = schedstat.split(' ').map((ns) => Number(ns) / 1e6);
  if (!(ranMs > 0 && waitedMs >= 0)) return null;
  // The name before it may itself contain brackets and spaces.
  const letter = stat.charAt(stat.lastIndexOf(')') + 2);
  return { ranMs, waitedMs, state: STATES[letter] ?? 'sleeping' };
}

/** A folder for temporary files. Unless it is in memory, writing to them may wait for a disk. */
export interface FastFolder {
  readonly path: string;
  readonly isInMemory: boolean;
}

/** Folders for a file that should not delay its writer, the best one first: in memory on Linux. */
export function fastFolders(): readonly FastFolder[] {
  const inMemory = isLinux ? [{ path: '/dev/shm', isInMemory: true }] : [];
  return [...inMemory, { path: tmpdir(), isInMemory: false }];
}

/** The path by which a child process opens a descriptor it inherits; null where it has none. */
export function descriptorPath(descriptor: number): string | null {
  return isPosix ? `/dev/fd/${descriptor}` : null;
}
