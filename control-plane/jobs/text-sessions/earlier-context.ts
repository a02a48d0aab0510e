/** The items of an earlier call or text session, for a text session that goes on with it. */
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import { readTimeline } from '../../calls/sessions/timeline.ts';
import { readEarlierItems } from '../../calls/texts/text-session-parts.ts';
import { readTextItems } from '../../calls/texts/text-timeline.ts';
import type { Context } from '../../platform/context.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { TextSessionDocument } from '../../platform/store/models/text-session-model.ts';
import { findOneSession } from '../../platform/store/session-archive.ts';

/** Half of what a model is told: the new session needs room for itself. */
const MOST_BYTES = LIMITS.textHistoryBytes / 2;

/** The context of an earlier session. */
export interface EarlierContext {
  readonly sessionId: string;
  readonly endUserId: string | null;
  /** The items, the newest if there are many. */
  readonly items: readonly SessionItem[];
}

/**
 * Reads the context of a call or a text session of the same agent; null without an id. Throws `not_found` for
 * a session of another agent, too.
 */
export async function earlierContext(
  context: Context,
  { _id: agentId, team_id }: Pick<AgentDocument, '_id' | 'team_id'>,
  sessionId: string | null,
): Promise<EarlierContext | null> {
  if (sessionId === null) return null;
  const theirs = { _id: sessionId, team_id, agent_id: agentId };
  const call = await findOneSession(context, { ...theirs, is_preview: false, status: { $ne: 'creating' } });
  if (call)
    return { sessionId, endUserId: call.end_user_id, items: newest(await readTimeline(context, call)) };
  const written = await context.models.textSessions.findOne(theirs).lean<TextSessionDocument>();
  if (!written) throw fault('not_found');
  const items = [...(await readEarlierItems(context, written)), ...(await readTextItems(context, written))];
  return { sessionId, endUserId: written.end_user_id, items: newest(items) };
}

/** The newest items that fit, and of those only what a conversation consists of. */
function newest(items: readonly SessionItem[]): SessionItem[] {
  const told = items.filter(
    ({ type }) => type === 'message' || type === 'tool_call' || type === 'tool_result',
  );
  let bytes = 0;
  const tooOld = told.findLastIndex((item) => {
    bytes += Buffer.byteLength(JSON.stringify(item));
    return bytes > MOST_BYTES;
  });
  return told.slice(tooOld + 1);
}
