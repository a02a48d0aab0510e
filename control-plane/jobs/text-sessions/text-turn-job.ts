/** The job of one turn: the session's plan with its knowledge, and the conversation so far. */
import { LIMITS } from '#config/limits.ts';
import type { SessionItem } from '#protocol/session-record.ts';
import type { TextTurnJob } from '#protocol/text-turn.ts';
import { openText } from '../../calls/sessions/sealed-contents.ts';
import { sealerOf } from '../../calls/sessions/session-store.ts';
import { knowledgeOf, readEarlierItems, readTextPlan } from '../../calls/texts/text-session-parts.ts';
import { readTold } from '../../calls/texts/text-timeline.ts';
import type { Context } from '../../platform/context.ts';
import type {
  TextSessionDocument,
  TextTurnDocument,
} from '../../platform/store/models/text-session-model.ts';

/** Creates the job; null once the session is erased. */
export async function textTurnJob(
  context: Context,
  session: TextSessionDocument,
  turn: TextTurnDocument,
): Promise<TextTurnJob | null> {
  const [plan, earlier, told, knowledge] = await Promise.all([
    readTextPlan(context, session),
    readEarlierItems(context, session),
    readTold(context, session, turn.number),
    knowledgeOf(context, session),
  ]);
  const sealer = sealerOf(context, session);
  if (!plan || !sealer) return null;
  return {
    turn_id: turn._id,
    plan: { ...plan, knowledge },
    medium: session.medium,
    number: turn.number,
    items: withEarlier(earlier, told),
    message: openText(sealer, turn.message, 'message'),
    is_streamed: turn.is_streamed,
  };
}

/** The items before the session are left out first. */
function withEarlier(earlier: readonly SessionItem[], told: readonly SessionItem[]): SessionItem[] {
  if (earlier.length === 0) return [...told];
  const bytes = (items: readonly SessionItem[]) => Buffer.byteLength(JSON.stringify(items));
  return bytes(earlier) + bytes(told) > LIMITS.textHistoryBytes ? [...told] : [...earlier, ...told];
}
