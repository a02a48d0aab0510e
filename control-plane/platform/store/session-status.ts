/** Session statuses: which are live, and which count as calls in progress. */
import type { SessionDocument, StoredStatus } from './models/session-model.ts';

/** Statuses of a session that has not ended. */
export const LIVE_STATUSES = ['pending', 'active', 'unknown'] as const satisfies readonly StoredStatus[];
/** Statuses of a session whose conversation has begun and not ended. */
export const RUNNING_STATUSES = ['active', 'unknown'] as const satisfies readonly StoredStatus[];
/** Statuses of a session that counts as a call in progress, including while it is being created. */
export const UNDER_WAY_STATUSES = ['creating', ...LIVE_STATUSES] as const satisfies readonly StoredStatus[];

/** Both directions of a call. */
export const DIRECTIONS = ['inbound', 'outbound'] as const satisfies readonly SessionDocument['direction'][];

/** True until the session has ended. */
export function isLive(status: SessionDocument['status']): boolean {
  return (LIVE_STATUSES as readonly StoredStatus[]).includes(status);
}

/** True while a conversation has begun and not ended. */
export function isRunning(status: SessionDocument['status']): boolean {
  return (RUNNING_STATUSES as readonly StoredStatus[]).includes(status);
}

/** True until the session has ended, including while it is being created. */
export function isUnderWay(status: SessionDocument['status']): boolean {
  return (UNDER_WAY_STATUSES as readonly StoredStatus[]).includes(status);
}

/** Statuses of a session that has ended. */
export const ENDED_STATUSES = ['completed', 'failed'] as const satisfies readonly StoredStatus[];

/** True once the session has ended. */
export function hasEnded(status: SessionDocument['status']): boolean {
  return (ENDED_STATUSES as readonly StoredStatus[]).includes(status);
}
