/** Asks the workers for a session's slot, unless its account would take the last ones from the others. */
import { fault } from '#config/errors.ts';
import type { Context } from '../context.ts';
import type { SessionDocument } from '../store/models/session-model.ts';
import type { JobOffer, Placement } from '../workers/dispatch.ts';
import { isLastTenth, mayTakeLast } from '../workers/slots.ts';

/** A session is stored with its worker long before that. */
const STORED_AFTER_MS = 10_000;
const RETRY_SECONDS = 10;

type Parts = Pick<Context, 'dispatch' | 'models' | 'clock'>;

/** A session that is being placed by this process, or was a moment ago. */
interface Placing {
  readonly userId: string;
  /** When its worker took it. */
  takenMs: number | null;
}

const placing = new WeakMap<Context['models'], Map<string, Placing>>();

/** Places a session of this account. Throws `share_of_workers`, and what `Dispatch.place` throws. */
export async function placeFairly(context: Parts, offer: JobOffer, userId: string): Promise<Placement> {
  const now = context.clock.now();
  const all = placing.get(context.models) ?? new Map<string, Placing>();
  placing.set(context.models, all);
  for (const [id, { takenMs }] of all) if (takenMs !== null && now - takenMs > STORED_AFTER_MS) all.delete(id);
  const asking = [...all.values()].filter(({ takenMs }) => takenMs === null).length;
  const own: Placing = { userId, takenMs: null };
  const { capacity, free, instanceIds } = context.dispatch.slots(offer.kind);
  all.set(offer.sessionId, own);
  try {
    if (isLastTenth({ capacity, free }, asking)) {
      const held = await heldSlots(context, { instanceIds, placing: all, except: offer.sessionId });
      const accounts = await context.models.users.countDocuments({}).limit(held.size + 1);
      if (!mayTakeLast(userId, held, accounts)) throw fault('share_of_workers', { seconds: RETRY_SECONDS });
    }
    const placement = await context.dispatch.place(offer);
    own.takenMs = context.clock.now();
    return placement;
  } catch (error) {
    all.delete(offer.sessionId);
    throw error;
  }
}

/** How many slots each account holds on these workers, those on their way included. */
async function heldSlots(
  { models }: Parts,
  of: { readonly instanceIds: readonly string[]; readonly placing: ReadonlyMap<string, Placing>; readonly except: string },
): Promise<ReadonlyMap<string, number>> {
  const onTheirWay = [...of.placing].filter(([id]) => id !== of.except).map(([_id, { userId: user_id }]) => ({ _id, user_id }));
  const stored = await models.sessions
    .find({ 'worker.instance_id': { $in: of.instanceIds }, status: { $in: ['pending', 'active', 'unknown'] } }, { user_id: 1 })
    .lean<Pick<SessionDocument, '_id' | 'user_id'>[]>();
  const sessions = new Map([...onTheirWay, ...stored].map(({ _id, user_id }) => [_id, user_id]));
  const held = new Map<string, number>();
  for (const user of sessions.values()) held.set(user, (held.get(user) ?? 0) + 1);
  return held;
}
