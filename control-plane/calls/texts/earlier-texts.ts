/** The earlier conversation of a caller and the agent in writing, for the agent's prompt. */
import type { SessionItem } from '#protocol/session-record.ts';
import { isE164 } from '#telephony/e164.ts';
import type { Context } from '../../platform/context.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import { type SmsThreadDocument, smsThreadId } from '../../platform/store/models/sms-model.ts';
import type { TextSessionDocument } from '../../platform/store/models/text-session-model.ts';
import { readEarlierItems } from './text-session-parts.ts';
import { readTextItems } from './text-timeline.ts';

const MINUTE_MS = 60_000;
/** A part of every request to the model. */
const MOST_CHARS = 16_000;

/** Text messages between a person and the agent. */
export interface EarlierTexts {
  /** Id of the newest text session. */
  readonly sessionId: string;
  /** One line for each message, the newest last. */
  readonly text: string;
}

/** The conversation by SMS with the same number and agent; null without one within the number's time. */
export async function earlierTexts(
  context: Pick<Context, 'models' | 'dataKeys' | 'clock'>,
  { _id: numberId, sms, agent_id: agentId }: Pick<NumberDocument, '_id' | 'sms' | 'agent_id'>,
  caller: string,
): Promise<EarlierTexts | null> {
  if (!sms || sms.continue_minutes === 0 || sms.agent_id !== agentId || !isE164(caller)) return null;
  const { smsThreads, textSessions } = context.models;
  const id = smsThreadId({ number_id: numberId, person: caller });
  const thread = await smsThreads.findById(id).lean<SmsThreadDocument>();
  if (!thread?.session_id) return null;
  const since = new Date(context.clock.wallTime() - sms.continue_minutes * MINUTE_MS);
  const session = await textSessions
    .findOne({ _id: thread.session_id, agent_id: agentId, last_at: { $gte: since } })
    .lean<TextSessionDocument>();
  if (!session) return null;
  const [earlier, items] = await Promise.all([
    readEarlierItems(context, session),
    readTextItems(context, session),
  ]);
  const text = newestLines([...earlier, ...items]);
  return text === null ? null : { sessionId: session._id, text };
}

function newestLines(items: readonly SessionItem[]): string | null {
  const lines = items.flatMap((item) =>
    item.type === 'message' ? [`${item.role === 'user' ? 'Person' : 'You'}: ${item.content}`] : [],
  );
  let chars = 0;
  const tooOld = lines.findLastIndex((line) => {
    chars += line.length + 1;
    return chars > MOST_CHARS;
  });
  return lines.slice(tooOld + 1).join('\n') || null;
}
