/** The price of a message: charged before it is answered, returned if there is no answer. Idempotent. */
import { formatMoney } from '#base/money.ts';
import { LIMITS } from '#config/limits.ts';
import type { Context } from '../../platform/context.ts';
import type {
  TextSessionDocument,
  TextTurnDocument,
} from '../../platform/store/models/text-session-model.ts';

type Parts = Pick<Context, 'ledger' | 'models'>;

/**
 * Charges a stored turn. Throws `out_of_credit`; false if it was returned before it was charged, because the
 * turn is over.
 */
export async function chargeTurn({ ledger, models }: Parts, turn: TextTurnDocument): Promise<boolean> {
  if (turn.billing !== 'due') return turn.billing !== 'returned';
  const entry = await ledger.post({
    userId: turn.user_id,
    key: chargeKey(turn._id),
    kind: 'hold',
    amountMicros: -turn.price,
    floorMicros: 0,
  });
  if (entry.kind === 'void') return false;
  await models.textTurns.updateOne({ _id: turn._id, billing: 'due' }, { $set: { billing: 'paid' } });
  return true;
}

/** Returns what a turn without an answer has cost; a charge that comes later has no effect any more. */
export async function returnCharge({ ledger, models }: Parts, turn: TextTurnDocument): Promise<void> {
  if (turn.billing === 'free' || turn.billing === 'returned') return;
  const { user_id: userId, _id } = turn;
  // The existing entry, or one that stands in the way of a late charge.
  const charged = await ledger.post({ userId, key: chargeKey(_id), kind: 'void', amountMicros: 0 });
  if (charged.amountMicros < 0)
    await ledger.post({
      userId,
      key: `t:${_id}:return`,
      kind: 'refund',
      amountMicros: -charged.amountMicros,
    });
  await models.textTurns.updateOne({ _id }, { $set: { billing: 'returned' } });
}

/** Cost of the messages of a session so far, in dollars; charges that were returned are not in it. */
export async function costOf(
  { models }: Pick<Context, 'models'>,
  { _id }: Pick<TextSessionDocument, '_id'>,
): Promise<string> {
  const paid = await models.textTurns
    .find({ session_id: _id, billing: 'paid' }, { price: 1 })
    .limit(LIMITS.textSessionTurns)
    .lean<Pick<TextTurnDocument, 'price'>[]>();
  return formatMoney(paid.reduce((sum, { price }) => sum + price, 0));
}

function chargeKey(turnId: string): string {
  return `t:${turnId}:hold`;
}
