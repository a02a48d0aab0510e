/**
 * The share of the processor of the calling thread, and of a process; on Linux a thread has a priority of its
 * own.
 */
import { spawnSync } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { basename } from 'node:path';
import { setFlagsFromString } from 'node:v8';

/**
 * For a thread that sends packets: on time matters more there than anything else the machine does. Where that
 * is not allowed nothing changes.
 */
export function preferThisThread(): void {
  ask(constants.priority.PRIORITY_HIGH);
  collectAlone();
}

/**
 * Real time (`SCHED_RR`, sched(7)) for the preferred thread of phone calls: a priority alone lets whoever
 * runs end a slice of some ms first. It works for some ms in twenty and then sleeps. What it starts is
 * treated as others are, for a lock held by one that does not get to run must never be waited for by two that
 * do. Node cannot ask for it, `chrt` (util-linux) can; where that is missing or not allowed, the thread is a
 * preferred one.
 */
export function runThisThreadInRealTime(): void {
  preferThisThread();
  try {
    const thread = basename(readlinkSync('/proc/thread-self'));
    spawnSync('chrt', ['--reset-on-fork', '--rr', '--pid', '1', thread], { stdio: 'ignore' });
  } catch {
    // Another system than Linux.
  }
}

/**
 * For the loops a conversation or a request waits for (calls, speech detection, the API and its store),
 * behind the media thread: what a knowledge index or a synthesis of the same process does late is noticed
 * less.
 */
export function favourThisThread(): void {
  ask(constants.priority.PRIORITY_ABOVE_NORMAL);
  collectAlone();
}

/** For a thread started by a favoured one, whose priority it inherits. */
export function treatThisThreadAsOthers(): void {
  ask(constants.priority.PRIORITY_NORMAL);
}

/** For a thread that works at full speed on what nobody on a call waits for. */
export function yieldToOtherThreads(): void {
  ask(constants.priority.PRIORITY_BELOW_NORMAL);
}

/** For a process whose loops a conversation waits for. */
export const FAVOURED = constants.priority.PRIORITY_ABOVE_NORMAL;
/**
 * For one that callers wait for while it rings, and that keeps what the others give it: behind those, but
 * before other programs, or admission takes too long.
 */
export const BEHIND_FAVOURED = -4;

/**
 * For a process started with a session of its own. Where Linux groups what it runs by session (sched(7),
 * autogroup), the cores are shared among the sessions first: the priority of a thread counts within its own
 * session alone, and the busiest other part gets as much as all of this one.
 */
export async function favourProcess(pid: number, priority: number): Promise<void> {
  // Not grouped so, not allowed, or ended already: it runs like any other.
  await writeFile(`/proc/${pid}/autogroup`, String(priority)).catch(() => undefined);
}

/**
 * From now on each thread of this process collects its young generation alone. V8's helpers run at the usual
 * priority, and a thread that waits for one of them waits for everything else the machine does: beside busy
 * cores a collection took 50 ms instead of 5. There is little to collect, as next to nothing of it lives on.
 */
function collectAlone(): void {
  setFlagsFromString('--no-parallel-scavenge');
}

function ask(priority: number): void {
  try {
    setPriority(priority);
  } catch {
    // Not allowed to this user: the thread runs like any other.
  }
}
