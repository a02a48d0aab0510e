/** Text messages of a bought number: where its carrier sends them. */
import { fault } from '#config/errors.ts';
import { MESSAGE_PATH } from '#telephony/carriers/carrier.ts';
import { type Context, now } from '../../platform/context.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';

/**
 * Has the carrier send the number's messages here. Throws `conflict` for a number that has none, and for one
 * whose messages go elsewhere unless that is replaced.
 */
export async function receiveMessages(
  context: Context,
  number: NumberDocument,
  options: { readonly replace: boolean },
): Promise<void> {
  const { carrier } = context;
  if (!carrier.messages || number.provider !== 'managed' || number.carrier_number_id === '')
    throw fault('conflict', {
      detail:
        'This number has no text messages: only numbers bought from a carrier that has them do ' +
        '(TWILIO_ACCOUNT_SID)',
    });
  await carrier.messages.deliverTo(number.carrier_number_id, messageUrl(context), options);
}

/**
 * Removes the agent for messages, then has the carrier send none here any more; also if an earlier removal
 * has failed half-way.
 */
export async function removeSms(context: Context, number: NumberDocument): Promise<NumberDocument> {
  if (number.provider !== 'managed' || number.carrier_number_id === '') return number;
  const { sms: _sms, ...rest } = number;
  await context.models.numbers.updateOne(
    { _id: number._id },
    { $unset: { sms: 1 }, $set: { updated_at: now(context) } },
  );
  await context.carrier.messages?.stopDelivery(number.carrier_number_id, messageUrl(context));
  return rest;
}

function messageUrl({ publicAddress }: Context): string {
  return `${publicAddress.url}${MESSAGE_PATH}`;
}
