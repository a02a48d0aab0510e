/** Write commands: insert, update, delete, findAndModify. They run in the writer, one at a time. */
import type { Clock } from '#base/clock.ts';
import type { Document } from './bson-values.ts';
import {
  type Command,
  documentField,
  documentsField,
  listField,
  namespaceOf,
  numberField,
  refuseUnsupported,
  sortField,
} from './command-fields.ts';
import { insertDocument, removeDocument, type Store } from './documents.ts';
import { compileProjection } from './projection.ts';
import { limited, scan } from './scan.ts';
import { StoreError, unsupported } from './store-error.ts';
import { type UpdateRequest, updateDocuments } from './update.ts';

/** Dependencies of a write command. */
export interface WriteContext {
  readonly store: Store;
  readonly clock: Clock;
}

/** Write commands by lower-case name. */
export const WRITE_COMMANDS: ReadonlyMap<string, (context: WriteContext, command: Command) => Document> =
  new Map([
    ['insert', insert],
    ['update', update],
    ['delete', remove],
    ['findandmodify', findAndModify],
  ]);

function insert({ store }: WriteContext, command: Command): Document {
  const collection = store.catalogue.open(namespaceOf(command));
  const { done, errors } = each(command, documentsField(command, 'documents'), (document) =>
    insertDocument(store, collection, document),
  );
  return { n: done.length, ...errors };
}

function update(context: WriteContext, command: Command): Document {
  const collection = context.store.catalogue.open(namespaceOf(command));
  const { done, errors } = each(command, documentsField(command, 'updates'), (entry) => {
    refuseUnsupported(entry);
    return updateDocuments(context.store, collection, {
      filter: documentField(entry, 'q'),
      update: updateOf(entry['u']),
      isMulti: entry['multi'] === true,
      isUpsert: entry['upsert'] === true,
      arrayFilters: listField(entry, 'arrayFilters'),
      sort: sortField(entry, 'sort'),
      nowMs: context.clock.wallTime(),
    });
  });
  const upserted = done.flatMap(({ index, result }) =>
    result.upsertedId === undefined ? [] : [{ index, _id: result.upsertedId }],
  );
  return {
    n: done.reduce((total, { result }) => total + result.matched, 0) + upserted.length,
    nModified: done.reduce((total, { result }) => total + result.modified, 0),
    ...(upserted.length > 0 && { upserted }),
    ...errors,
  };
}

function remove({ store }: WriteContext, command: Command): Document {
  const collection = store.catalogue.find(namespaceOf(command));
  let removed = 0;
  const { errors } = each(command, documentsField(command, 'deletes'), (entry) => {
    refuseUnsupported(entry);
    const found = [
      ...limited(
        scan(store, collection, { filter: documentField(entry, 'q') }),
        0,
        numberField(entry, 'limit', 0),
      ),
    ];
    for (const row of found) if (collection) removeDocument(store, collection, row);
    removed += found.length;
  });
  return { n: removed, ...errors };
}

function findAndModify(context: WriteContext, command: Command): Document {
  refuseUnsupported(command);
  const project = compileProjection(documentField(command, 'fields'));
  const shown = (document: Document | null) => (document && project ? project(document) : document);
  if (command['remove'] === true) return findAndRemove(context.store, command, shown);
  const collection = context.store.catalogue.open(namespaceOf(command));
  const request: UpdateRequest = {
    filter: documentField(command, 'query'),
    update: updateOf(command['update']),
    isMulti: false,
    isUpsert: command['upsert'] === true,
    arrayFilters: listField(command, 'arrayFilters'),
    sort: sortField(command, 'sort'),
    nowMs: context.clock.wallTime(),
  };
  const { matched, upsertedId, before, after } = updateDocuments(context.store, collection, request);
  const wasInserted = upsertedId !== undefined;
  return {
    lastErrorObject: {
      n: wasInserted ? 1 : matched,
      updatedExisting: matched > 0,
      ...(wasInserted && { upserted: upsertedId }),
    },
    value: shown(command['new'] === true ? after : before()),
  };
}

function findAndRemove(
  store: Store,
  command: Command,
  shown: (document: Document | null) => Document | null,
): Document {
  const collection = store.catalogue.find(namespaceOf(command));
  const [row] = scan(store, collection, {
    filter: documentField(command, 'query'),
    sort: sortField(command, 'sort'),
  });
  if (!row || !collection) return { lastErrorObject: { n: 0 }, value: null };
  const value = shown(row.document());
  removeDocument(store, collection, row);
  return { lastErrorObject: { n: 1 }, value };
}

function updateOf(value: unknown): Document | readonly Document[] {
  if (Array.isArray(value)) return value as Document[];
  if (value === undefined) throw new StoreError('FailedToParse', 'an update is missing');
  return documentField({ value }, 'value');
}

interface Outcome<T> {
  readonly done: readonly { readonly index: number; readonly result: T }[];
  readonly errors: Document;
}

/** Runs a command's statements in order; an ordered command stops at the first error. */
function each<T>(
  command: Command,
  statements: readonly Document[],
  run: (statement: Document) => T,
): Outcome<T> {
  refuseUnsupported(command);
  const done: { index: number; result: T }[] = [];
  const writeErrors: Document[] = [];
  for (const [index, statement] of statements.entries()) {
    try {
      done.push({ index, result: run(statement) });
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      writeErrors.push({ index, code: error.code, errmsg: error.message, ...error.details });
      if (command['ordered'] !== false) break;
    }
  }
  return { done, errors: writeErrors.length > 0 ? { writeErrors } : {} };
}

/** Refuses transactions: by design, every write of the product changes a single document. */
export function refuseTransaction(command: Command): void {
  if (command['startTransaction'] !== undefined || command['autocommit'] !== undefined)
    throw unsupported('a multi-document transaction');
}
