/** Scripted answers of a worker to the jobs that it is offered. */
import type { ControlMessage } from '#protocol/worker-link.ts';
import type { ControlPlaneClient } from '#runtime/link/control-plane-client.ts';

/** Accepts every job. */
export function accepting(message: ControlMessage, client: ControlPlaneClient): void {
  if (message.type === 'offer')
    client.send({ type: 'accept', session_id: message.session_id, epoch: message.epoch });
}

/** Declines every job as a full worker. */
export function declining(message: ControlMessage, client: ControlPlaneClient): void {
  if (message.type === 'offer')
    client.send({ type: 'decline', session_id: message.session_id, epoch: message.epoch, reason: 'full' });
}

/** A job for a web call. */
export function offer(sessionId: string) {
  return { sessionId, epoch: 1, kind: 'web', sipCallId: null } as const;
}
