/** Asks the workers for a session's slot, unless its account would take the last ones from the others. */
import { fault } from '#config/errors.ts';
import type { Context } from '../context.ts';
import type { JobOffer, Placement } from '../workers/dispatch.ts';
import { isLastTenth, mayTakeLast } from '../workers/slots.ts';
import { LIVE_STATUSES } from './session-machine.ts';

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
      const where = { instanceIds, placing: all, except: offer.sessionId };
      // Whoever holds none may always.
      const held = (await holdsAny(context, userId, where)) ? await heldSlots(context, where) : new Map<string, number>();
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

/** Which slots count: those on these workers, and those on their way but one. */
interface Where {
  readonly instanceIds: readonly string[];
  readonly placing: ReadonlyMap<string, Placing>;
  readonly except: string;
}

async function holdsAny({ models }: Parts, userId: string, { instanceIds, placing: all, except }: Where): Promise<boolean> {
  if ([...all].some(([id, other]) => id !== except && other.userId === userId)) return true;
  const own = { user_id: userId, status: { $in: [...LIVE_STATUSES] }, 'worker.instance_id': { $in: instanceIds } };
  return (await models.sessions.exists(own)) !== null;
}

/** How many slots each account holds on these workers, those on their way included. */
async function heldSlots({ models }: Parts, of: Where): Promise<ReadonlyMap<string, number>> {
  const onTheirWay = [...of.placing].filter(([id]) => id !== of.except);
  // Counted by the store: whoever is refused asks often, and costs no reading of every session.
  const stored = await models.sessions.aggregate<{ _id: string; slots: number }>([
    {
      $match: {
        'worker.instance_id': { $in: of.instanceIds },
        status: { $in: [...LIVE_STATUSES] },
        _id: { $nin: onTheirWay.map(([id]) => id) },
      },
    },
    { $group: { _id: '$user_id', slots: { $sum: 1 } } },
  ]);
  const held = new Map(stored.map(({ _id, slots }) => [_id, slots]));
  for (const [, { userId }] of onTheirWay) held.set(userId, (held.get(userId) ?? 0) + 1);
  return held;
}
