/**
 * Builds a timeline entry for the part of a reply the caller had heard when its worker died. Pure, so that
 * the simulation applies the same rule.
 */
import type { SessionItem } from '#protocol/session-record.ts';
import type { HeardSoFar } from '../../platform/dispatch.ts';

/** Returns null when the agent was not speaking, or when a report already contains the message. */
export function interruptedReplyItem(
  items: readonly SessionItem[],
  heard: HeardSoFar | null,
): SessionItem | null {
  if (!heard) return null;
  const messages = items.filter((item) => item.type === 'message');
  const isReported = messages.some(
    ({ role, content }) => role === 'assistant' && content.startsWith(heard.text),
  );
  const id = `m${messages.length + 1}`;
  return isReported
    ? null
    : {
        type: 'message',
        role: 'assistant',
        content: heard.text,
        turn_id: null,
        id,
        created_at: new Date(heard.atMs).toISOString(),
      };
}
