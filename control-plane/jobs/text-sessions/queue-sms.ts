/** Stores an answer as text messages that are to be sent; fixed ids make a repetition harmless. */
import { type Context, now } from '../../platform/context.ts';
import { insertDocuments } from '../../platform/store/insert-documents.ts';
import type { SmsMessageDocument } from '../../platform/store/models/sms-model.ts';
import { smsParts } from './sms-parts.ts';

/** An answer to a person. */
export interface SmsAnswer
  extends Pick<SmsMessageDocument, 'number_id' | 'team_id' | 'person' | 'session_id'> {
  /** Id of what it answers. */
  readonly id: string;
  readonly text: string;
}

/** Stores the answer, and has it sent. */
export async function queueSms(
  context: Pick<Context, 'models' | 'clock' | 'secretBox' | 'workSignals'>,
  { id, text, number_id, team_id, person, session_id }: SmsAnswer,
): Promise<void> {
  const at = now(context);
  const parts = smsParts(text).map(
    (part, index): SmsMessageDocument => ({
      _id: `${id}:sms:${index}`,
      direction: 'out',
      number_id,
      team_id,
      person,
      state: 'due',
      state_at: at,
      // Parts are sent in their order.
      created_at: new Date(at.getTime() + index),
      text: context.secretBox.seal(part, 'sms'),
      answered_keyword: null,
      carrier_id: null,
      attempts: 0,
      note: '',
      session_id,
    }),
  );
  await insertDocuments(context.models.smsMessages, parts);
  context.workSignals.notify('sms');
}
