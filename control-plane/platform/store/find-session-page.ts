/**
 * Reads a page of sessions, newest first, archived or not. Most pages are newer than the archive and need
 * only the sessions. Others merge both, by time and id, as if there were one collection.
 */
import { LIMITS } from '#config/limits.ts';
import type { Context } from '../context.ts';
import { encodeCursor, listStart } from '../http/lists.ts';
import { findPage, type Page, type PageRequest, rowsAfter } from './find-page.ts';
import type { SessionDocument } from './models/session-model.ts';
import { findSessions, type KnownArchive, knownArchive, type Month } from './session-archive.ts';

type Parts = Pick<Context, 'models' | 'clock'>;
type Source = Pick<Month, 'collection'>;
/** A row of a page, and where it was found. */
type Place = Pick<SessionDocument, '_id' | 'created_at'> & { readonly source: Source };

const NEWEST_FIRST = { created_at: -1, _id: -1 } as const;

/** Reads a page. Throws the faults of `listStart`. */
export async function findSessionPage(parts: Parts, request: PageRequest): Promise<Page<SessionDocument>> {
  const known = await knownArchive(parts);
  if (isArchived(request, known)) return { ...(await mergedPage(parts, request, known.months)), total: null };
  const page = await findPage(parts.models.sessions, request);
  // Afterwards: what has been moved meanwhile is found in the archive.
  const { months, beforeMs } = await knownArchive(parts);
  if (months.length === 0) return page;
  const total = page.total === null ? null : await countWith(months, request.filter, { more: page.total });
  const isNewer = page.has_more && (page.rows.at(-1)?.created_at.getTime() ?? 0) >= beforeMs;
  return isNewer ? { ...page, total } : { ...(await mergedPage(parts, request, months)), total };
}

/** True for a page after a row of the archive: reading the sessions alone first would be of no use. */
function isArchived({ query }: PageRequest, { months, beforeMs }: KnownArchive): boolean {
  if (months.length === 0 || query.include_total) return false;
  const start = listStart(query);
  return 'after' in start && start.after !== null && start.after.at.getTime() < beforeMs;
}

async function mergedPage(
  parts: Parts,
  { filter, query, without = [] }: PageRequest,
  months: readonly Month[],
): Promise<Omit<Page<SessionDocument>, 'total'>> {
  const start = listStart(query);
  const after = 'after' in start ? start.after : null;
  const skip = 'skip' in start ? start.skip : 0;
  const wanted = after ? { $and: [rowsAfter('created_at', after), filter] } : filter;
  const options = { sort: NEWEST_FIRST, limit: skip + query.page_size + 1, projection: { created_at: 1 } };
  const places = new Map<string, Place>();
  const read = async (source: Source) => {
    const found = (await source.collection.find(wanted as never, options).toArray()) as unknown as Place[];
    for (const place of found) if (!places.has(place._id)) places.set(place._id, { ...place, source });
  };
  await read(parts.models.sessions);
  for (const month of months) {
    if (after && month.startMs > after.at.getTime()) continue;
    // Every further session is older than these.
    if (countFrom(places, month.endMs) >= options.limit) break;
    await read(month);
  }
  const ordered = [...places.values()].sort(byNewest).slice(skip, options.limit);
  const shown = ordered.slice(0, query.page_size);
  const rows = await rowsOf(parts, shown, without);
  const last = shown.at(-1);
  const hasMore = ordered.length > shown.length;
  return {
    rows,
    has_more: hasMore,
    next_cursor: hasMore && last ? encodeCursor({ at: last.created_at, id: last._id }) : null,
  };
}

function countFrom(places: ReadonlyMap<string, Place>, startMs: number): number {
  let count = 0;
  for (const { created_at: at } of places.values()) if (at.getTime() >= startMs) count += 1;
  return count;
}

function byNewest(a: Place, b: Place): number {
  const order = b.created_at.getTime() - a.created_at.getTime();
  if (order !== 0) return order;
  return a._id < b._id ? 1 : -1;
}

async function rowsOf(
  parts: Parts,
  places: readonly Place[],
  without: readonly string[],
): Promise<SessionDocument[]> {
  const fields = Object.fromEntries(without.map((field) => [field, 0 as const]));
  const rows = new Map<string, SessionDocument>();
  const add = (found: readonly SessionDocument[]) => {
    for (const session of found) rows.set(session._id, session);
  };
  for (const [{ collection }, of] of Map.groupBy(places, ({ source }) => source)) {
    const those = { _id: { $in: of.map(({ _id }) => _id) } } as never;
    add((await collection.find(those, { projection: fields }).toArray()) as unknown as SessionDocument[]);
  }
  const ids = places.map(({ _id }) => _id);
  // Those that were moved meanwhile.
  add(
    await findSessions(
      parts,
      ids.filter((id) => !rows.has(id)),
      fields,
    ),
  );
  return ids.flatMap((id) => rows.get(id) ?? []);
}

/** At most `LIMITS.countedRows`. A session that is being moved at this moment counts twice. */
async function countWith(
  months: readonly Month[],
  filter: object,
  { more }: { readonly more: number },
): Promise<number> {
  let total = more;
  for (const { collection } of months) {
    const limit = LIMITS.countedRows - total;
    if (limit <= 0) break;
    total += await collection.countDocuments(filter as never, { limit });
  }
  return total;
}
