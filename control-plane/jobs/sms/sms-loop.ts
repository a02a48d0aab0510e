/** The background work of text messages: handles what was received and sends what is due. */
import { type BackgroundLoop, startBackgroundLoop } from '../../platform/background/background-loop.ts';
import type { Context } from '../../platform/context.ts';
import { leaseHolder } from '../../platform/store/lease.ts';
import { type SmsMessageDocument, smsThreadId } from '../../platform/store/models/sms-model.ts';
import { handleThread } from './handle-sms.ts';
import { sendDue } from './send-sms.ts';

const TICK_MS = 2_000;
const BATCH = 200;

/** Starts the loop of a process. */
export function startSms(context: Context): BackgroundLoop {
  const holder = leaseHolder(context.settings);
  const isDone = async () =>
    (await context.models.smsMessages.exists({ state: { $in: ['received', 'due', 'sending'] } })) === null;
  const options = {
    name: 'sms',
    everyMs: TICK_MS,
    chore: 'sms',
    isDone,
    waitsFor: ['smsMessages', 'textSessions', 'textTurns'],
  } as const;
  return startBackgroundLoop(context, options, async () => {
    await handleReceived(context, holder);
    await sendDue(context);
  });
}

async function handleReceived(context: Context, holder: string): Promise<void> {
  const received = await context.models.smsMessages
    .find({ state: 'received' }, { number_id: 1, person: 1, team_id: 1 })
    .sort({ created_at: 1 })
    .limit(BATCH)
    .lean<Pick<SmsMessageDocument, 'number_id' | 'person' | 'team_id'>[]>();
  const threads = Map.groupBy(received, smsThreadId);
  for (const [first] of threads.values())
    if (first)
      // Messages of other people do not wait for one that cannot be handled.
      await handleThread(context, holder, first).catch((error: unknown) =>
        context.logger.error({ err: error, numberId: first.number_id }, 'failed to handle text messages'),
      );
}
