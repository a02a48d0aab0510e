/**
 * Bytes a team keeps in voices and knowledge: every voice and every revision holds its own, in one document
 * that also has their sum. As with places, nobody has to give bytes back: whoever finds too few left lets go
 * of what is gone. What was stored before bytes were counted is not.
 */
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import type { PlaceHolder, PlacesDocument } from '../../platform/store/models/place-model.ts';
import { beginList, ON_ITS_WAY_MS, ROUNDS } from '../../platform/store/places.ts';
import { START_KEY } from '../keys/accounts.ts';

type Parts = Pick<Context, 'models' | 'clock' | 'settings' | 'ledger'>;

/** Something that is about to be stored. */
interface StoredBytesOf {
  readonly userId: string;
  readonly teamId: string;
  /** Of a voice or of a revision of knowledge; what follows a colon tells its parts apart. */
  readonly id: string;
  readonly bytes: number;
}

/** Takes the bytes. Throws `storage_full`. */
export async function takeBytes(context: Parts, stored: StoredBytesOf): Promise<void> {
  const { setting, limit, remedy } = await limitOf(context, stored.userId);
  if (limit === Number.POSITIVE_INFINITY) return;
  const { collection } = context.models.places;
  const id = `bytes:${stored.teamId}`;
  for (let round = 0; stored.bytes <= limit && round < ROUNDS; round++) {
    const holder = { id: stored.id, at: new Date(context.clock.wallTime()), bytes: stored.bytes };
    const guard = { _id: id, total: { $lte: limit - stored.bytes }, 'holders.id': { $ne: stored.id } };
    const { modifiedCount } = await collection.updateOne(
      guard as never,
      { $push: { holders: holder }, $inc: { total: stored.bytes } } as never,
    );
    if (modifiedCount === 1) return;
    const isBegun = await beginList(context.models, id, async () => ({ holders: [], total: 0 }));
    if (!isBegun && !(await letGo(context, id, limit - stored.bytes))) break;
  }
  throw fault('storage_full', { limit, remedy, setting });
}

/**
 * Gives back at once the bytes of `ids` and of their parts, such as those of what was deleted, or not stored
 * after all; with `replacedBy`, those taken before it.
 */
export async function freeBytes(
  { models }: Pick<Context, 'models'>,
  teamId: string,
  ids: readonly string[],
  { replacedBy }: { readonly replacedBy?: string } = {},
): Promise<void> {
  const wanted = new Set(ids);
  await free({ models }, `bytes:${teamId}`, (holders) => {
    const end = replacedBy === undefined ? holders.length : holders.findIndex(({ id }) => id === replacedBy);
    return holders.slice(0, Math.max(end, 0)).filter(({ id }) => isOneOf(wanted, id));
  });
}

/** Whether it is one of these, or a part of one. */
function isOneOf(ids: ReadonlySet<string>, id: string): boolean {
  for (let end = id.length; end > 0; end = id.lastIndexOf(':', end - 1))
    if (ids.has(id.slice(0, end))) return true;
  return false;
}

/** Lets go of some holders in one update, or in none: whoever was slower than others who did looks again. */
async function free(
  { models }: Pick<Context, 'models'>,
  id: string,
  choose: (holders: readonly PlaceHolder[]) => readonly PlaceHolder[],
): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const { holders = [] } = (await models.places.findById(id).lean<PlacesDocument>()) ?? {};
    const freed = choose(holders);
    if (freed.length === 0) return;
    const ids = freed.map((holder) => holder.id);
    const bytes = freed.reduce((sum, holder) => sum + (holder.bytes ?? 0), 0);
    const guard = { _id: id, 'holders.id': { $all: ids } };
    const update = { $pull: { holders: { id: { $in: ids } } }, $inc: { total: -bytes } };
    if ((await models.places.collection.updateOne(guard as never, update as never)).modifiedCount === 1)
      return;
  }
}

/**
 * An account has paid once anything but its starting credit was put into its wallet, whatever that credit is
 * today.
 */
async function limitOf({ ledger, settings }: Parts, userId: string) {
  const { LIMIT_STORED_BYTES: paid, LIMIT_STORED_BYTES_UNPAID: unpaid } = settings;
  const wallet = await ledger.wallet(userId);
  const startMicros = wallet?.first.key === START_KEY ? wallet.first.amountMicros : 0;
  return wallet && wallet.newest.cumulativeTopUpMicros > startMicros
    ? { limit: paid, setting: 'LIMIT_STORED_BYTES', remedy: '' }
    : { limit: unpaid, setting: 'LIMIT_STORED_BYTES_UNPAID', remedy: ', top up' };
}

/** Lets go of the bytes of what is gone; false when nothing is, and more than `mostBytes` are taken. */
async function letGo({ models, clock }: Parts, id: string, mostBytes: number): Promise<boolean> {
  const { holders = [], total = 0 } = (await models.places.findById(id).lean<PlacesDocument>()) ?? {};
  const ids = holders.map((holder) => holder.id.split(':')[0] ?? '');
  const [voices, revisions] = await Promise.all([
    models.voices.find({ _id: { $in: ids } }, { _id: 1 }).lean(),
    models.knowledgeRevisions.find({ _id: { $in: ids } }, { _id: 1 }).lean(),
  ]);
  const there = new Set([...voices, ...revisions].map(({ _id }) => _id));
  const before = clock.wallTime() - ON_ITS_WAY_MS;
  const gone = holders.filter(
    (holder) => !there.has(holder.id.split(':')[0] ?? '') && holder.at.getTime() <= before,
  );
  const ofGone = new Set(gone.map((holder) => holder.id));
  if (gone.length > 0) await free({ models }, id, (now) => now.filter((holder) => ofGone.has(holder.id)));
  return gone.length > 0 || total <= mostBytes;
}
