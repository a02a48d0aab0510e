/** Which sessions are not over, and which count as calls under way. */
import type { SessionDocument, StoredStatus } from './models/session-model.ts';

/** Of a session that is not over. */
export const LIVE_STATUSES = ['pending', 'active', 'unknown'] as const satisfies readonly StoredStatus[];
/** Of a session that counts as a call under way, from the moment it is intended. */
export const UNDER_WAY_STATUSES = ['creating', ...LIVE_STATUSES] as const satisfies readonly StoredStatus[];

/** True while the session is not over. */
export function isLive(status: SessionDocument['status']): boolean {
  return (LIVE_STATUSES as readonly StoredStatus[]).includes(status);
}
