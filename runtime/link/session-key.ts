/** Names one worker's part in a session, as the key of a map: each further worker has a higher epoch. */
export function keyOf(sessionId: string, epoch: number): string {
  return `${sessionId}:${epoch}`;
}
