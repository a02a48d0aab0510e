/**
 * What the caller had heard of a reply when its worker died, as an entry of the timeline. Pure, so that the
 * simulation hands calls over by the same rule.
 */
import type { SessionItem } from '#protocol/session-record.ts';
import type { HeardSoFar } from '../../platform/dispatch.ts';

/** Null when nothing was being said, or a report had told it already. */
export function brokenOffItem(items: readonly SessionItem[], heard: HeardSoFar | null): SessionItem | null {
  if (!heard) return null;
  const messages = items.filter((item) => item.type === 'message');
  const isTold = messages.some(({ role, content }) => role === 'assistant' && content.startsWith(heard.text));
  const id = `m${messages.length + 1}`;
  return isTold
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
