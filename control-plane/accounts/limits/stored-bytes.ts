/**
 * Bytes a team stores in voices and knowledge. Each voice and each revision has an entry in one document,
 * which also holds the total. As with places, releasing bytes is optional: when too few are left, the next
 * taker drops the entries of deleted objects. Objects stored before this accounting existed are not counted.
 */
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import { beginList, ON_ITS_WAY_MS, ROUNDS } from '../../platform/store/counted-places.ts';
import type { PlaceHolder, PlacesDocument } from '../../platform/store/models/place-model.ts';
import { START_KEY } from '../keys/accounts.ts';

type Parts = Pick<Context, 'models' | 'clock' | 'settings' | 'ledger'>;

/** An object that is about to be stored. */
interface StoredBytesOf {
  readonly userId: string;
  readonly teamId: string;
  /** Id of a voice or a knowledge revision; a suffix after a colon identifies a part. */
  readonly id: string;
  readonly bytes: number;
}

/**
 * Throws `storage_full` if the team has no room for `bytes` more. Reserves nothing: it refuses a large upload
 * before its body is read.
 */
export async function requireRoom(
  context: Parts,
  { userId, teamId, bytes }: Omit<StoredBytesOf, 'id'>,
): Promise<void> {
  const { setting, limit, remedy } = await limitOf(context, userId);
  const id = `bytes:${teamId}`;
  const hasRoom = async () => {
    const list = await context.models.places.findById(id, { total: 1 }).lean<PlacesDocument>();
    return (list?.total ?? 0) + bytes <= limit;
  };
  if (await hasRoom()) return;
  if (bytes <= limit && (await dropDeletedEntries(context, id, limit - bytes)) && (await hasRoom())) return;
  throw fault('storage_full', { limit, remedy, setting });
}

/** Reserves the bytes. Throws `storage_full`. */
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
    if (!isBegun && !(await dropDeletedEntries(context, id, limit - stored.bytes))) break;
  }
  throw fault('storage_full', { limit, remedy, setting });
}

/**
 * Releases the bytes of `ids` and their parts at once, for example after a deletion or a failed store. With
 * `replacedBy`, releases only the entries taken before that one.
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

/** Whether `id` is one of `ids` or a part of one. */
function isOneOf(ids: ReadonlySet<string>, id: string): boolean {
  for (let end = id.length; end > 0; end = id.lastIndexOf(':', end - 1))
    if (ids.has(id.slice(0, end))) return true;
  return false;
}

/**
 * Drops the chosen holders in a single update. If a concurrent update removed some of them first, chooses
 * again.
 */
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
 * An account counts as paid once its wallet has received more than its starting credit, whatever the current
 * setting for that credit.
 */
async function limitOf({ ledger, settings }: Parts, userId: string) {
  const { LIMIT_STORED_BYTES: paid, LIMIT_STORED_BYTES_UNPAID: unpaid } = settings;
  const wallet = await ledger.wallet(userId);
  const startMicros = wallet?.first.key === START_KEY ? wallet.first.amountMicros : 0;
  return wallet && wallet.newest.cumulativeTopUpMicros > startMicros
    ? { limit: paid, setting: 'LIMIT_STORED_BYTES', remedy: '' }
    : { limit: unpaid, setting: 'LIMIT_STORED_BYTES_UNPAID', remedy: ', top up' };
}

/**
 * Drops the entries of deleted objects. Returns false if there were none and the total exceeds `mostBytes`.
 */
async function dropDeletedEntries({ models, clock }: Parts, id: string, mostBytes: number): Promise<boolean> {
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
