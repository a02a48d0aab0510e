/**
 * Asks the control plane whether a caller may be transferred now: transfers from managed numbers count
 * towards the calls their account places (`OUTBOUND_CALLS_PER_MINUTE`).
 */

import type { Logger } from '#base/log.ts';
import { transferPermission } from '#protocol/transfer-permission.ts';
import { askControlPlane, type ControlPlaneAccess } from '../link/ask-control-plane.ts';

/** The caller waits meanwhile. */
const ANSWER_WITHIN_MS = 2_000;

/** Dependencies of the request. */
export interface TransferPermissionDeps extends ControlPlaneAccess {
  readonly logger: Logger;
}

/**
 * True when the transfer may begin, also when no answer comes in time: a call outlives its control plane and
 * makes few transfers (`LIMITS.transfersPerCall`). Never rejects.
 */
export async function askForTransfer(deps: TransferPermissionDeps, sessionId: string): Promise<boolean> {
  try {
    const permission = await askControlPlane(deps, {
      path: '/internal/transfers',
      body: { session_id: sessionId },
      answer: transferPermission,
      withinMs: ANSWER_WITHIN_MS,
    });
    return permission.is_allowed;
  } catch (error) {
    deps.logger.warn({ err: error, sessionId }, 'no answer whether the caller may be transferred');
    return true;
  }
}
