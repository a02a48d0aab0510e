/** TTL indexes: removes documents older than their index allows. */
import type { Collection, Index } from './catalogue.ts';
import { removeDocument, type Store } from './documents.ts';
import { limited, scan } from './scan.ts';

/** Maximum documents removed per index and sweep, so that other writes are not delayed. */
const MAX_REMOVED = 500;

/** Removes expired documents. */
export function removeExpired(store: Store, wallTimeMs: number): void {
  for (const collection of store.catalogue.all()) {
    for (const index of collection.indexes) removeExpiredBy(store, collection, index, wallTimeMs);
  }
}

function removeExpiredBy(
  store: Store,
  collection: Collection,
  { spec, fields }: Index,
  wallTimeMs: number,
): void {
  const [field] = fields;
  if (spec.expireAfterSeconds === undefined || !field || fields.length > 1) return;
  const filter = { [field.path]: { $lte: new Date(wallTimeMs - spec.expireAfterSeconds * 1000) } };
  // Collected first, because removing documents changes the index being read.
  const expired = [...limited(scan(store, collection, { filter }), 0, MAX_REMOVED)];
  for (const row of expired) removeDocument(store, collection, row);
}
