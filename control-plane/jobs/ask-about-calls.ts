/** Groups of ended calls, whose logs go to a worker at once. */
import { Fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { readWholeFlightLog } from '../calls/recordings/recording-store.ts';

/** Text of the logs that a worker gets at once, unless one log is longer; bytes. */
const BYTES_AT_ONCE = 2 * 1_048_576;
/** After so many attempts in vain a call is left out. */
const MOST_ATTEMPTS = 3;

/** The log of a call; null if it has none, or one that is too long or damaged. */
export async function logOf(
  context: Parameters<typeof readWholeFlightLog>[0],
  session: Parameters<typeof readWholeFlightLog>[1],
): Promise<Buffer | null> {
  const log = await readWholeFlightLog(context, session, LIMITS.replayedLogBytes);
  return log && log.byteLength > 0 ? log : null;
}

/**
 * Whether a group takes no further log, of `more` bytes. `attempts`: those in vain before. After one, calls
 * go one by one, so that a bad log is found.
 */
export function isGroupFull(
  group: { readonly calls: number; readonly bytes: number },
  { more, attempts }: { readonly more: number; readonly attempts: number },
): boolean {
  return group.calls > 0 && (group.bytes + more > BYTES_AT_ONCE || attempts > 0);
}

/**
 * Asks a worker about a group. `no_worker`: none is free or can do it; `no_answer`: one took too long or
 * died. After the last attempt in vain its calls are `unreadable`.
 */
export async function askAboutCalls<Call extends { readonly session_id: string }, Outcome>(
  calls: readonly Call[],
  attempts: number,
  ask: (calls: readonly Call[]) => Promise<readonly Outcome[]>,
): Promise<
  | readonly (Outcome | { readonly outcome: 'unreadable'; readonly session_id: string })[]
  | 'no_worker'
  | 'no_answer'
> {
  if (calls.length === 0) return [];
  try {
    return await ask(calls);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (error.code === 'no_capacity') return 'no_worker';
    if (attempts + 1 < MOST_ATTEMPTS) return 'no_answer';
    return calls.map(({ session_id }) => ({ outcome: 'unreadable', session_id }));
  }
}
