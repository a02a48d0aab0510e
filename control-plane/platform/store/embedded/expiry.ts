/** TTL indexes: documents whose date is older than the index allows are removed. */
import type { Collection, Index } from './catalogue.ts';
import { removeDocument, type Store } from './documents.ts';
import { limited, scan } from './scan.ts';

/** Removes at most this many documents of an index at a time, so that writes in between do not wait long. */
const MAX_REMOVED = 500;

/** Removes what has expired. */
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
  // Read before anything is removed, as removing changes the index that is being read.
  const expired = [...limited(scan(store, collection, { filter }), 0, MAX_REMOVED)];
  for (const row of expired) removeDocument(store, collection, row);
}
