/**
 * Sends text messages through the carrier's API. The carrier has no key against repetitions: a message whose
 * sending was interrupted is looked for at the carrier before it is sent again.
 */
import { MESSAGE_STATUS_PATH, type SendOutcome } from '#telephony/carriers/carrier.ts';
import { type Context, now } from '../../platform/context.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import {
  type SmsMessageDocument,
  type SmsThreadDocument,
  smsThreadId,
} from '../../platform/store/models/sms-model.ts';

/** With the delays between them, ten minutes. */
const MOST_ATTEMPTS = 8;
/** Before the second attempt; doubled before each further one. */
const RETRY_MS = 5_000;
/** An attempt takes less; then it was interrupted. */
const ATTEMPT_MS = 60_000;
const BATCH = 100;
/** The carrier's clock may be behind. */
const CLOCK_MS = 60_000;

/** Sends what is due, the messages of each person in their order. */
export async function sendDue(context: Context): Promise<void> {
  const { messages } = context.carrier;
  if (!messages) return;
  await lookForInterrupted(context);
  const due = await context.models.smsMessages
    .find({ state: 'due', direction: 'out' })
    .sort({ created_at: 1, _id: 1 })
    .limit(BATCH)
    .lean<SmsMessageDocument[]>();
  const people = Map.groupBy(due, smsThreadId);
  await Promise.all(
    [...people.values()].map(async (theirs) => {
      for (const message of theirs)
        if (message.state_at > now(context) || !(await send(context, message))) return;
    }),
  );
}

/** False if the next message of the person has to wait for this one. */
async function send(context: Context, { _id }: SmsMessageDocument): Promise<boolean> {
  const { smsMessages, numbers, smsThreads } = context.models;
  const taken = await smsMessages
    .findOneAndUpdate(
      { _id, state: 'due' },
      { $set: { state: 'sending', state_at: now(context) }, $inc: { attempts: 1 } },
      { returnDocument: 'after' },
    )
    .lean<SmsMessageDocument>();
  const { messages } = context.carrier;
  if (!taken || taken.text === null || !messages) return false;
  const [number, thread] = await Promise.all([
    numbers.findById(taken.number_id).lean<NumberDocument>(),
    smsThreads.findById(smsThreadId(taken)).lean<SmsThreadDocument>(),
  ]);
  if (number?.status !== 'active') return settle(context, taken, refused('the number was released'));
  // The confirmation of the stop itself belongs to no session.
  if (thread?.stopped_at && taken.session_id !== null)
    return settle(context, taken, refused('the person wants no messages'));
  const outcome = await messages.send({
    from: number.phone_number,
    to: taken.person,
    text: context.secretBox.open(taken.text, 'sms'),
    statusUrl: `${context.publicAddress.url}${MESSAGE_STATUS_PATH}`,
  });
  return settle(context, taken, outcome);
}

async function settle(
  context: Context,
  { _id, attempts }: SmsMessageDocument,
  result: SendOutcome,
): Promise<boolean> {
  const mine = { _id, state: 'sending' as const };
  const { smsMessages } = context.models;
  const at = now(context);
  if (result.outcome === 'sent') {
    const sent = { state: 'sent' as const, state_at: at, carrier_id: result.carrierMessageId, text: null };
    await smsMessages.updateOne(mine, { $set: sent });
    context.metrics.smsMessages.inc({ outcome: 'sent' });
    return true;
  }
  // It may have been sent: it stays, and is looked for.
  if (result.outcome === 'unknown') return false;
  const isOver = result.outcome === 'refused' || attempts >= MOST_ATTEMPTS;
  const again = new Date(at.getTime() + RETRY_MS * 2 ** (attempts - 1));
  const change = isOver
    ? { state: 'failed' as const, state_at: at, text: null }
    : { state: 'due' as const, state_at: again };
  await smsMessages.updateOne(mine, { $set: { ...change, note: result.error } });
  if (isOver) {
    context.metrics.smsMessages.inc({ outcome: 'failed' });
    context.logger.warn({ smsId: _id, cause: result.error }, 'a text message could not be sent');
  }
  return isOver;
}

/** Messages whose sending was interrupted: sent, or due again. */
async function lookForInterrupted(context: Context): Promise<void> {
  const { smsMessages, numbers } = context.models;
  const since = new Date(context.clock.wallTime() - ATTEMPT_MS);
  const left = await smsMessages
    .find({ state: 'sending', state_at: { $lte: since } })
    .limit(BATCH)
    .lean<SmsMessageDocument[]>();
  for (const message of left) {
    const number = await numbers.findById(message.number_id).lean<NumberDocument>();
    if (!number || message.text === null) {
      await settle(context, message, refused('the number was released'));
      continue;
    }
    const found = await context.carrier.messages
      ?.findSent({
        from: number.phone_number,
        to: message.person,
        text: context.secretBox.open(message.text, 'sms'),
        since: new Date(message.created_at.getTime() - CLOCK_MS),
      })
      .catch(() => undefined);
    // The carrier cannot be asked: later.
    if (found === undefined) continue;
    await settle(
      context,
      message,
      found ? { outcome: 'sent', ...found } : { outcome: 'unsent', error: 'the carrier did not answer' },
    );
  }
}

function refused(error: string): SendOutcome {
  return { outcome: 'refused', error };
}
