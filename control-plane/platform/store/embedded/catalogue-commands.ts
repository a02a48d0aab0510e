/** Commands on collections and indexes. */
import { type Document, encode } from './bson-values.ts';
import type { Collection } from './catalogue.ts';
import {
  type Command,
  commandName,
  databaseOf,
  documentField,
  documentsField,
  namespaceOf,
  numberField,
  stringField,
} from './command-fields.ts';
import type { CursorReply } from './cursors.ts';
import { fillIndex, type Store } from './documents.ts';
import type { Reply } from './read-context.ts';
import { StoreError } from './store-error.ts';

/** Catalogue commands by lower-case name. Changes are atomic. */
export const CATALOGUE_COMMANDS: ReadonlyMap<string, (store: Store, command: Command) => Reply> = new Map([
  ['create', create],
  ['drop', drop],
  ['dropdatabase', dropDatabase],
  ['createindexes', createIndexes],
  ['dropindexes', dropIndexes],
  ['listindexes', listIndexes],
  ['listcollections', listCollections],
  ['listdatabases', listDatabases],
]);

/** True for commands that change the catalogue. */
export function changesCatalogue(name: string): boolean {
  return !name.startsWith('list');
}

function create(store: Store, command: Command): Reply {
  const namespace = namespaceOf(command);
  if (store.catalogue.find(namespace))
    throw new StoreError('NamespaceExists', `Collection ${namespace} already exists.`);
  store.catalogue.open(namespace);
  return {};
}

function drop(store: Store, command: Command): Reply {
  const collection = requireCollection(store, command);
  const nIndexesWas = collection.indexes.length + 1;
  store.catalogue.drop(collection);
  return { ns: collection.namespace, nIndexesWas };
}

function dropDatabase(store: Store, command: Command): Reply {
  const database = databaseOf(command);
  for (const collection of store.catalogue.inDatabase(database)) store.catalogue.drop(collection);
  return { dropped: database };
}

function createIndexes(store: Store, command: Command): Reply {
  const collection = store.catalogue.open(namespaceOf(command));
  const numIndexesBefore = collection.indexes.length + 1;
  for (const spec of documentsField(command, 'indexes')) {
    const index = store.catalogue.addIndex(collection, spec);
    if (index) fillIndex(store, collection, index);
  }
  return {
    numIndexesBefore,
    numIndexesAfter: collection.indexes.length + 1,
    createdCollectionAutomatically: false,
  };
}

function dropIndexes(store: Store, command: Command): Reply {
  const collection = requireCollection(store, command);
  const nIndexesWas = collection.indexes.length + 1;
  const wanted = command['index'];
  const names = new Set(Array.isArray(wanted) ? wanted : [wanted]);
  const chosen = collection.indexes.filter((index) => wanted === '*' || names.has(index.spec.name));
  if (chosen.length === 0 && wanted !== '*')
    throw new StoreError('IndexNotFound', `index not found with name [${String(wanted)}]`);
  for (const index of chosen) store.catalogue.dropIndex(collection, index);
  return { nIndexesWas };
}

function listIndexes(store: Store, command: Command): Reply {
  const collection = requireCollection(store, command);
  const specs = [collection.primary.spec, ...collection.indexes.map((index) => index.spec)];
  const documents = specs.map(({ name, key, ...options }) => ({
    v: 2,
    key,
    name,
    ...(name === '_id_' ? {} : options),
  }));
  return wholeList(collection.namespace, documents);
}

function listCollections(store: Store, command: Command): Reply {
  const database = databaseOf(command);
  const wanted = documentField(command, 'filter')['name'];
  const documents = store.catalogue
    .inDatabase(database)
    .map((collection) => collection.namespace.slice(database.length + 1))
    .filter((name) => wanted === undefined || wanted === name)
    .map((name) => ({
      name,
      type: 'collection',
      options: {},
      info: { readOnly: false },
      idIndex: { v: 2, key: { _id: 1 }, name: '_id_' },
    }));
  return wholeList(`${database}.$cmd.listCollections`, documents);
}

function listDatabases(store: Store): Reply {
  const pages = numberField(store.sqlite.pragma('page_count') ?? {}, 'page_count', 0);
  const pageBytes = numberField(store.sqlite.pragma('page_size') ?? {}, 'page_size', 0);
  const names = new Set(store.catalogue.all().map((collection) => collection.namespace.split('.')[0] ?? ''));
  const databases = [...names].map((name) => ({ name, sizeOnDisk: pages * pageBytes, empty: false }));
  return { databases, totalSize: pages * pageBytes };
}

function requireCollection(store: Store, command: Command): Collection {
  const collection = store.catalogue.find(namespaceOf(command));
  if (!collection) {
    const name = stringField(command, commandName(command));
    throw new StoreError('NamespaceNotFound', `ns does not exist: ${databaseOf(command)}.${name}`);
  }
  return collection;
}

function wholeList(namespace: string, documents: readonly Document[]): CursorReply {
  return { kind: 'cursor', id: 0, namespace, batch: 'firstBatch', documents: documents.map(encode) };
}
