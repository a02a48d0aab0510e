/** Until when a session without a worker was served: the caller pays until then. */
import type { SessionDocument } from '../../platform/store/models/session-model.ts';

/** The fields that `servedUntil` reads. */
export type ServedFacts = Pick<SessionDocument, 'status' | 'status_at' | 'last_seq' | 'takeovers'>;

/**
 * Until when a session without a worker was certainly served; time after that is not charged. One in status
 * `unknown` was last seen when its link was lost. The worker may have died before. A successor that has
 * reported nothing did not have the caller yet.
 */
export function servedUntil(session: ServedFacts, diedAt: Date): Date {
  const { status, status_at: doubtedAt, last_seq: lastSeq, takeovers } = session;
  const times = [diedAt];
  if (status === 'unknown') times.push(doubtedAt);
  const before = lastSeq === 0 && takeovers?.at(-1)?.served_until;
  if (before) times.push(before);
  return new Date(Math.min(...times.map(Number)));
}
