/** Session keys as messages of the worker link write them. */
import type { SessionKey } from '../../platform/dispatch.ts';

/** The fields that name a session in a message. */
export function toWire({ sessionId, epoch }: SessionKey): { session_id: string; epoch: number } {
  return { session_id: sessionId, epoch };
}
