/** CPU priority of the calling thread, and of a process; on Linux each thread has a priority of its own. */
import { spawnSync } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { basename } from 'node:path';
import { setFlagsFromString } from 'node:v8';

/**
 * For a thread that sends packets: its timing matters more than anything else on the machine. Has no effect
 * if not permitted.
 */
export function preferThisThread(): void {
  ask(constants.priority.PRIORITY_HIGH);
  collectAlone();
}

/**
 * Real-time scheduling (`SCHED_RR`, sched(7)) for a thread that sends packets at a fixed rate: with a mere
 * priority, the running thread first finishes a slice of some ms. Such a thread works for some ms in twenty
 * and sleeps otherwise. Threads it starts run normally, because two real-time threads must never wait for a
 * lock held by one that gets no CPU. Node cannot request it, but `chrt` (util-linux) can; if that is missing
 * or not permitted, the thread gets a high priority instead.
 */
export function runThisThreadInRealTime(): void {
  preferThisThread();
  try {
    const thread = basename(readlinkSync('/proc/thread-self'));
    spawnSync('chrt', ['--reset-on-fork', '--rr', '--pid', '1', thread], { stdio: 'ignore' });
  } catch {
    // Not Linux.
  }
}

/**
 * For event loops that a conversation or a request waits for, below threads that send packets: indexing or
 * synthesis in the same process delays them less.
 */
export function favourThisThread(): void {
  ask(constants.priority.PRIORITY_ABOVE_NORMAL);
  collectAlone();
}

/** For a thread started by a prioritised one, whose priority it would inherit. */
export function treatThisThreadAsOthers(): void {
  ask(constants.priority.PRIORITY_NORMAL);
}

/** For a thread that works at full speed on something no call waits for. */
export function yieldToOtherThreads(): void {
  ask(constants.priority.PRIORITY_BELOW_NORMAL);
}

/** For a process with event loops that a conversation waits for. */
export const FAVOURED = constants.priority.PRIORITY_ABOVE_NORMAL;
/**
 * For a process that callers wait for while it rings, and that stores the data of the others: below those,
 * but above other programs, or admission takes too long.
 */
export const BEHIND_FAVOURED = -4;

/**
 * For a process started in a session of its own. If Linux groups processes by session (sched(7), autogroup),
 * CPU time is first shared among sessions: a thread's priority counts only within its own session, and the
 * busiest other process gets as much as this whole one.
 */
export async function favourProcess(pid: number, priority: number): Promise<void> {
  // Not grouped, not permitted, or already ended: it runs normally.
  await writeFile(`/proc/${pid}/autogroup`, String(priority)).catch(() => undefined);
}

/**
 * Makes each thread of this process collect its young generation by itself. V8's helper threads run at normal
 * priority, so a thread that waits for one waits for everything else on the machine: with busy cores a
 * collection took 50 ms instead of 5. There is little to collect, since almost nothing survives.
 */
function collectAlone(): void {
  setFlagsFromString('--no-parallel-scavenge');
}

function ask(priority: number): void {
  try {
    setPriority(priority);
  } catch {
    // This user may not: the thread runs normally.
  }
}
