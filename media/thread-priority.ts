/** The calling thread's share of the processor; on Linux a thread has a priority of its own. */
import { constants, setPriority } from 'node:os';

/** For the thread that sends packets: on time matters more there than anything else the machine does. Where that is not allowed nothing changes. */
export function preferThisThread(): void {
  ask(constants.priority.PRIORITY_HIGH);
}

/**
 * For the loops a conversation waits for (calls, speech detection), behind the media thread: what they do late is silence on the line,
 * what the control plane, its store or an index do late is not noticed.
 */
export function favourThisThread(): void {
  ask(constants.priority.PRIORITY_ABOVE_NORMAL);
}

/** For a thread started by a favoured one, whose priority it inherits. */
export function treatThisThreadAsOthers(): void {
  ask(constants.priority.PRIORITY_NORMAL);
}

function ask(priority: number): void {
  try {
    setPriority(priority);
  } catch {
    // Not allowed to this user: the thread runs like any other.
  }
}
