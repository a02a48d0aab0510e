/** The last conversation of a person with an agent, by phone or in writing, for one that goes on with it. */
import { type Context, now } from '../../platform/context.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { NumberSms } from '../../platform/store/models/number-model.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import type { SmsThreadDocument } from '../../platform/store/models/sms-model.ts';
import type { TextSessionDocument } from '../../platform/store/models/text-session-model.ts';

const MINUTE_MS = 60_000;

/** Returns its id; null if there was none within the number's time. */
export async function lastConversation(
  context: Context,
  {
    agent,
    person,
    sms,
    thread,
  }: {
    readonly agent: Pick<AgentDocument, '_id' | 'team_id'>;
    readonly person: string;
    readonly sms: NumberSms;
    readonly thread: Pick<SmsThreadDocument, 'session_id'>;
  },
): Promise<string | null> {
  if (sms.continue_minutes === 0) return null;
  const since = new Date(now(context).getTime() - sms.continue_minutes * MINUTE_MS);
  const [call] = await context.models.sessions
    .find(
      {
        team_id: agent.team_id,
        agent_id: agent._id,
        caller_number: { $eq: person, $type: 'string' },
        is_preview: false,
        status: { $in: ['active', 'unknown', 'completed'] },
        wrapped_key: { $ne: null },
        created_at: { $gte: new Date(since.getTime() - LONGEST_CALL_MS) },
      },
      { ended_at: 1 },
    )
    .sort({ created_at: -1 })
    .limit(1)
    .lean<Pick<SessionDocument, '_id' | 'ended_at'>[]>();
  const written = thread.session_id
    ? await context.models.textSessions
        .findOne({ _id: thread.session_id, agent_id: agent._id, wrapped_key: { $ne: null } })
        .lean<TextSessionDocument>()
    : null;
  const found = [
    ...(call ? [{ id: call._id, at: call.ended_at ?? now(context) }] : []),
    ...(written ? [{ id: written._id, at: written.last_at }] : []),
  ].filter(({ at }) => at >= since);
  return found.sort((one, other) => other.at.getTime() - one.at.getTime())[0]?.id ?? null;
}

/** A call ends within an hour. */
const LONGEST_CALL_MS = 60 * MINUTE_MS;
