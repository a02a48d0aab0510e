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
