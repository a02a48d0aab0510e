/** Classifies errors of drachtio-srf. */

/** Returns the final status of a refused INVITE, or 0. */
export function statusOf(error: unknown): number {
  return error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : 0;
}

/** Whether the peer no longer knows the dialog, cannot be reached, or has already sent BYE. */
export function isGone(error: unknown): boolean {
  return (
    isGoneStatus(statusOf(error)) || (error instanceof Error && 'code' in error && error.code === 'ENODIALOG')
  );
}

export function isGoneStatus(status: number): boolean {
  return status === 481 || status === 408;
}

/** Whether the peer did not answer at all, which does not prove that it has left. */
export function isUnreachable(error: unknown): boolean {
  return statusOf(error) === 408;
}

/** Whether every address of the server refuses connections: no process listens there. */
export function isRefused(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isRefused);
  return error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
}

/** The connection to the server broke before it had answered. */
export class ConnectionLost extends Error {
  constructor() {
    super('the connection to signalling was lost');
  }
}

/** Whether the server could not be told, or told nothing about the outcome. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof ConnectionLost) return true;
  // Of drachtio-srf.
  return (
    error instanceof Error &&
    'code' in error &&
    (error.code === 'ESOCKETDESTROYED' || error.code === 'EINVALIDSOCKET')
  );
}
