/** The apology that the person of an SMS conversation gets for a message without an answer. */
import { readTextPlan } from '../../calls/texts/text-session-parts.ts';
import type { Context } from '../../platform/context.ts';
import type {
  TextSessionDocument,
  TextTurnDocument,
} from '../../platform/store/models/text-session-model.ts';

/**
 * The agent's line for a failed answer, in its language; empty for other sessions, whose clients have an
 * error to show, and for erased ones.
 */
export async function smsApology(
  context: Context,
  { session_id }: Pick<TextTurnDocument, 'session_id'>,
): Promise<string> {
  const session = await context.models.textSessions.findById(session_id).lean<TextSessionDocument>();
  const plan = session?.sms && (await readTextPlan(context, session));
  return plan ? context.troubleLine(plan.config.voice.speaking_language) : '';
}
