/** Which threads and processes come first when the machine is busy. */
import { constants } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { replaceThreadPriority, scheduleThreadInRealTime, setThreadPriority } from './platform.ts';

/** For a thread that sends packets: its timing matters more than anything else on the machine. */
export function preferThisThread(): void {
  setThreadPriority(constants.priority.PRIORITY_HIGH);
  collectAlone();
}

/**
 * For a thread that sends packets at a fixed rate: with a mere priority, the running thread first finishes a
 * slice of some ms. Such a thread works for some ms in twenty and sleeps otherwise. Threads it starts run
 * normally, because two real-time threads must never wait for a lock held by one that gets no CPU. Without
 * real-time scheduling the thread has a high priority.
 */
export function runThisThreadInRealTime(): void {
  preferThisThread();
  scheduleThreadInRealTime();
}

/**
 * For a process whose threads send packets, which first loads native libraries: that takes seconds of CPU
 * time, and other processes have calls. It loads them with the normal priority. The returned function prefers
 * all threads that still have it, those of the libraries included. Call it when the process begins to serve,
 * and again once everything is loaded: threads may have been started meanwhile.
 */
export function loadBeforeServing(): () => void {
  const { PRIORITY_NORMAL, PRIORITY_HIGH } = constants.priority;
  collectAlone();
  treatThisThreadAsOthers();
  return () => replaceThreadPriority(PRIORITY_NORMAL, PRIORITY_HIGH);
}

/**
 * For event loops that a conversation or a request waits for, below threads that send packets: indexing or
 * synthesis in the same process delays them less.
 */
export function favourThisThread(): void {
  setThreadPriority(constants.priority.PRIORITY_ABOVE_NORMAL);
  collectAlone();
}

/** For a thread started by a prioritised one, whose priority it would inherit. */
export function treatThisThreadAsOthers(): void {
  setThreadPriority(constants.priority.PRIORITY_NORMAL);
}

/** For a thread that works at full speed on something no call waits for. */
export function yieldToOtherThreads(): void {
  setThreadPriority(constants.priority.PRIORITY_BELOW_NORMAL);
}

/**
 * Priority of each kind of process, where the system shares CPU time among sessions. Sound comes first. Then
 * the control plane, which callers wait for while it rings, and which stores the data of the others.
 * Higher priorities would starve servers beside Parley, such as LiveKit's, which have 0.
 */
export const PROCESS_PRIORITIES = { worker: -7, 'control-plane': -4, signalling: -2 } as const;

/**
 * Makes each thread of this process collect its young generation by itself. V8's helper threads run at normal
 * priority, so a thread that waits for one waits for everything else on the machine: with busy cores a
 * collection took 50 ms instead of 5. There is little to collect, since almost nothing survives.
 */
function collectAlone(): void {
  setFlagsFromString('--no-parallel-scavenge');
}
