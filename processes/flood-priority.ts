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

/** Priority of the process's session, as a nice value; null if the system has none. */
interface PriorityOfSession {
  read(): Promise<number | null>;
  set(priority: number): Promise<void>;
}

/**
 * Lowers the priority while `unwanted`, the number of messages so far that were dropped or malformed, grows
 * fast. Returns a function that stops this.
 */
export function giveWayDuringFloods(
  clock: Clock,
  unwanted: () => number,
  priority: PriorityOfSession,
): () => void {
  let seen = unwanted();
  let lastFloodMs = Number.NEGATIVE_INFINITY;
  /** Priority to return to; null while there is no flood. */
  let usual: number | null = null;

  async function look(): Promise<void> {
    const nowMs = clock.now();
    if (unwanted() - seen >= FLOOD_PER_SECOND) lastFloodMs = nowMs;
    seen = unwanted();
    const isFlooded = nowMs - lastFloodMs < QUIET_MS;
    if (isFlooded && usual === null) {
      const current = await priority.read();
      if (current === null || current >= 0) return;
      usual = current;
      await priority.set(0);
    } else if (!isFlooded && usual !== null) {
      const before = usual;
      usual = null;
      await priority.set(before);
    }
  }

  const timer = clock.every(LOOK_MS, () => void look());
  return () => timer.cancel();
}
