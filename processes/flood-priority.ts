/**
 * CPU priority of signalling during a flood. Anybody can send it garbage: handling the part that is not
 * dropped must not take CPU time from the calls, so the process gives up its priority meanwhile.
 */
import type { Clock } from '#base/clock.ts';

const LOOK_MS = 1_000;
/** Unwanted messages in a second; one broken peer is no flood. */
const FLOOD_PER_SECOND = 100;
/** How long it must be quiet before the priority returns. */
const QUIET_MS = 10_000;
/** Priority during a flood, below that of other programs. */
const FLOODED = 5;

/** Priority of the process's session, as a nice value. */
interface PriorityOfSession {
  /** The priority outside floods; a process with another one is left alone. */
  readonly usual: number;
  /** Null if the system has none. */
  read(): Promise<number | null>;
  /** May have no effect, for example if the system limits how often it is set. */
  set(priority: number): Promise<void>;
}

/**
 * Lowers the priority while `unwanted`, the number of messages so far that were dropped or malformed,
 * grows fast. Returns a function that stops this.
 */
export function giveWayDuringFloods(
  clock: Clock,
  unwanted: () => number,
  priority: PriorityOfSession,
): () => void {
  let seen = { atMs: clock.now(), count: unwanted() };
  let lastFloodMs = Number.NEGATIVE_INFINITY;
  let hasGivenWay = false;

  async function look(): Promise<void> {
    const now = { atMs: clock.now(), count: unwanted() };
    if ((now.count - seen.count) * 1_000 >= FLOOD_PER_SECOND * (now.atMs - seen.atMs)) lastFloodMs = now.atMs;
    seen = now;
    const isFlooded = now.atMs - lastFloodMs < QUIET_MS;
    if (!isFlooded && !hasGivenWay) return;
    // Read each time: a change that failed is repeated.
    const current = await priority.read();
    if (isFlooded && current === priority.usual) {
      hasGivenWay = true;
      await priority.set(FLOODED);
    } else if (!isFlooded && current === FLOODED) await priority.set(priority.usual);
    else if (!isFlooded) hasGivenWay = false;
  }

  const timer = clock.every(LOOK_MS, () => void look());
  return () => timer.cancel();
}
