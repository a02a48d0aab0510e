/**
 * Data keys of sessions in a database file that is not in use (docs/operations.md, "Backup and restore"). A
 * backup does not contain them: personal data of a session is encrypted with its key, and the keys are
 * exported separately, so that erasing a session also erases it from every older backup once the older key
 * export is replaced.
 */
import type { DataKeys } from '../../platform/secrets/secret-box.ts';
import { DEPLOYMENT_KEYS, opensCheck } from '../../platform/store/deployment-key.ts';
import type { Document } from '../../platform/store/embedded/bson-values.ts';
import { decode } from '../../platform/store/embedded/bson-values.ts';
import type { Collection as StoredCollection } from '../../platform/store/embedded/catalogue.ts';
import { beginReplacement, replaceDocument, type Store } from '../../platform/store/embedded/documents.ts';
import { openReadOnlyStore, openStore } from '../../platform/store/embedded/store.ts';
import { fromJsonText, type JsonText, toJsonText } from '../../platform/store/json-text.ts';

/** Wrapped data keys by session. */
export type WrappedKeys = ReadonlyMap<string, Uint8Array>;

/**
 * Personal fields of a session that are unencrypted while it has a key, as they are without one; by
 * collection.
 */
const UNKNOWN = {
  sessions: { name: null, caller_number: null, sip_call_id: null, end_user_id: null, metadata: '{}' },
  text_sessions: { end_user_id: null, sms: null, metadata: '{}' },
} as const;
type Sessions = keyof typeof UNKNOWN;
const CONTEXT = 'withheld';
/** Sessions, and the months of their archive. */
const SESSIONS = /^sessions(_\d{4}_\d{2})?$/;
const ROWS_AT_ONCE = 500;

/** Removes the keys from a copy. */
export function withholdKeys(file: string, keys: DataKeys): void {
  changeSessions(file, (session, kind) => {
    const wrapped = bytesOf(session['wrapped_key']);
    if (!wrapped) return null;
    const unknown = UNKNOWN[kind];
    const known = {
      ...Object.fromEntries(Object.keys(unknown).map((field) => [field, session[field] ?? null])),
      metadata: metadataOf(session),
    };
    const sealed = keys.open(String(session['_id']), wrapped).seal(JSON.stringify(known), CONTEXT);
    return { ...session, ...unknown, wrapped_key: null, withheld: sealed };
  });
}

/** Restores keys to a copy; returns how many of its sessions have theirs again, and how many have none. */
export function returnKeys(
  file: string,
  wrapped: WrappedKeys,
  keys: DataKeys,
): { readonly opened: number; readonly closed: number } {
  const count = { opened: 0, closed: 0 };
  changeSessions(file, ({ withheld, ...session }) => {
    const sealed = bytesOf(withheld);
    if (!sealed) return null;
    const key = wrapped.get(String(session['_id']));
    if (!key) {
      count.closed += 1;
      return null;
    }
    count.opened += 1;
    const known = JSON.parse(
      keys.open(String(session['_id']), key).open(sealed, CONTEXT).toString('utf8'),
    ) as object;
    return { ...session, ...known, wrapped_key: Buffer.from(key) };
  });
  return count;
}

/** The keys in a database, which may be in use. */
export function keysIn(file: string): WrappedKeys {
  const store = openReadOnlyStore(file);
  const keys = new Map<string, Uint8Array>();
  try {
    store.catalogue.refresh();
    for (const { session } of sessionsIn(store)) {
      const wrapped = bytesOf(session['wrapped_key']);
      if (wrapped) keys.set(String(session['_id']), wrapped);
      else keys.delete(String(session['_id']));
    }
  } finally {
    store.sqlite.close();
  }
  return keys;
}

function changeSessions(file: string, change: (session: Document, kind: Sessions) => Document | null): void {
  const store = openStore(file);
  try {
    for (const { session, kind, collection, row } of sessionsIn(store)) {
      const changed = change(session, kind);
      if (!changed) continue;
      const replacement = beginReplacement(collection, row, session, null);
      replaceDocument(store, collection, replacement, changed);
    }
    store.sqlite.commit();
    store.sqlite.emptyLog();
  } finally {
    store.sqlite.close();
  }
}

/** Whether this is the deployment key of a database, which may be in use and has a master key. */
export function hasDeploymentKey(file: string, deploymentKey: Buffer): boolean {
  const store = openReadOnlyStore(file);
  try {
    store.catalogue.refresh();
    for (const { document } of documentsIn(store, (name) => name === DEPLOYMENT_KEYS))
      return opensCheck(deploymentKey, String(document['check']));
    return false;
  } finally {
    store.sqlite.close();
  }
}

function* sessionsIn(store: Store) {
  const isOf = { sessions: SESSIONS, text_sessions: /^text_sessions$/ };
  for (const kind of Object.keys(UNKNOWN) as Sessions[])
    for (const { document, ...found } of documentsIn(store, (name) => isOf[kind].test(name)))
      yield { ...found, kind, session: document };
}

function* documentsIn(store: Store, isWanted: (name: string) => boolean) {
  const found = store.catalogue.all().filter(({ namespace }) => isWanted(namespace.replace(/^[^.]*\./, '')));
  // The archive first: a session counts more than its copy there.
  for (const collection of found.sort((a, b) => b.namespace.length - a.namespace.length))
    yield* everyDocument(store, collection);
}

function* everyDocument(store: Store, collection: StoredCollection) {
  for (let after = 0; ; ) {
    const rows = store.sqlite.all(
      `SELECT rid, doc FROM ${collection.table} WHERE rid>? ORDER BY rid LIMIT ?`,
      after,
      ROWS_AT_ONCE,
    );
    for (const found of rows) {
      const row = { rid: Number(found['rid']), bytes: found['doc'] as Uint8Array };
      yield { collection, row, document: decode(row.bytes) };
      after = row.rid;
    }
    store.sqlite.commit();
    if (rows.length < ROWS_AT_ONCE) return;
  }
}

function metadataOf(session: Document): string {
  return toJsonText(fromJsonText((session['metadata'] ?? {}) as JsonText));
}

/** Bytes, as BSON decodes them here. */
function bytesOf(value: unknown): Uint8Array | null {
  if (typeof value !== 'object' || value === null || !('position' in value)) return null;
  const { buffer, position } = value as unknown as { readonly buffer: Uint8Array; readonly position: number };
  return buffer.subarray(0, position);
}
