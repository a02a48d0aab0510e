/** Read commands. Short ones run in the writer, long ones in the reader thread. */
import { Long } from 'bson';
import { aggregate } from './aggregation.ts';
import { type Document, encode } from './bson-values.ts';
import {
  type Command,
  commandName,
  databaseOf,
  documentField,
  listField,
  namespaceOf,
  numberField,
  refuseUnsupported,
  sortField,
  stringField,
} from './command-fields.ts';
import type { Cursors } from './cursors.ts';
import { equalValues, indexedValues } from './keys.ts';
import { choosePlan, type Plan } from './planner.ts';
import { compileProjection } from './projection.ts';
import type { ReadContext, Reply } from './read-context.ts';
import { count, limited, scan } from './scan.ts';
import { StoreError, unsupported } from './store-error.ts';

const DEFAULT_BATCH = 101;

/** Read commands by lower-case name. */
export const READ_COMMANDS: ReadonlyMap<string, (context: ReadContext, command: Command) => Reply> = new Map([
  ['find', find],
  ['aggregate', runAggregate],
  ['count', runCount],
  ['distinct', distinct],
  ['explain', explain],
]);

/** Commands on open cursors, which exist only in the reader thread. */
export const CURSOR_COMMANDS: ReadonlyMap<string, (cursors: Cursors, command: Command) => Reply> = new Map([
  ['getmore', getMore],
  ['killcursors', killCursors],
]);

function find({ store, cursors, onExamined }: ReadContext, command: Command): Reply {
  refuseUnsupported(command);
  const namespace = namespaceOf(command);
  const query = { filter: documentField(command, 'filter'), sort: sortField(command, 'sort') };
  const project = compileProjection(documentField(command, 'projection'));
  const limit = Math.abs(numberField(command, 'limit', 0));
  const found = limited(
    scan(store, store.catalogue.find(namespace), query, onExamined),
    numberField(command, 'skip', 0),
    limit,
  );
  const rows = (function* () {
    for (const row of found) yield project ? encode(project(row.document())) : row.bytes;
  })();
  const batchSize = numberField(command, 'batchSize', DEFAULT_BATCH);
  return cursors.first(rows, {
    namespace,
    batchSize: limit === 0 ? batchSize : atLeastOneMore(batchSize, limit),
    isSingle: command['singleBatch'] === true,
  });
}

/**
 * If the batch can hold the whole limit, asks for one row more, so that the end is detected immediately and
 * no cursor is opened.
 */
function atLeastOneMore(batchSize: number, limit: number): number {
  return limit <= batchSize ? limit + 1 : batchSize;
}

function runAggregate({ store, cursors, onExamined }: ReadContext, command: Command): Reply {
  refuseUnsupported(command);
  const context = { store, cursors, ...(onExamined && { onExamined }) };
  const batchSize = numberField(documentField(command, 'cursor'), 'batchSize', DEFAULT_BATCH);
  return cursors.first(aggregate(context, command), {
    namespace: namespaceOf(command),
    batchSize,
    isSingle: false,
  });
}

function runCount({ store, onExamined }: ReadContext, command: Command): Reply {
  refuseUnsupported(command);
  const total = count(
    store,
    store.catalogue.find(namespaceOf(command)),
    documentField(command, 'query'),
    onExamined,
  );
  const afterSkip = Math.max(0, total - numberField(command, 'skip', 0));
  const limit = Math.abs(numberField(command, 'limit', 0));
  return { n: limit > 0 ? Math.min(limit, afterSkip) : afterSkip };
}

function distinct({ store, onExamined }: ReadContext, command: Command): Reply {
  refuseUnsupported(command);
  const segments = stringField(command, 'key').split('.');
  const values: unknown[] = [];
  const strings = new Set<string>();
  for (const row of scan(
    store,
    store.catalogue.find(namespaceOf(command)),
    { filter: documentField(command, 'query') },
    onExamined,
  )) {
    for (const value of indexedValues(row.document(), segments).values) {
      if (typeof value === 'string') strings.add(value);
      else if (
        value !== undefined &&
        typeof value !== 'symbol' &&
        !values.some((known) => equalValues(known, value))
      )
        values.push(value);
    }
  }
  return { values: [...values, ...strings] };
}

/** A minimal `explain`, enough for tests to see which index is used. */
function explain({ store }: ReadContext, command: Command): Reply {
  const inner = documentField(command, 'explain');
  if (commandName(inner) !== 'find') throw unsupported(`explain of ${commandName(inner)}`);
  const collection = store.catalogue.find(`${databaseOf(command)}.${stringField(inner, 'find')}`);
  if (!collection) return { queryPlanner: { winningPlan: { stage: 'EOF' } } };
  const filter = documentField(inner, 'filter');
  const sort = sortField(inner, 'sort');
  let examined = 0;
  let returned = 0;
  for (const _ of scan(store, collection, { filter, sort }, () => {
    examined += 1;
  })) {
    returned += 1;
  }
  return {
    queryPlanner: { winningPlan: winningPlan(choosePlan(collection, filter, sort)) },
    executionStats: { nReturned: returned, totalDocsExamined: examined },
  };
}

/** A plan as MongoDB would describe it, outermost stage first. */
function winningPlan({ index, isSorted, isMerged }: Plan): Document {
  const scanned = index ? { stage: 'IXSCAN', indexName: index.spec.name } : { stage: 'COLLSCAN' };
  const read = isMerged ? { stage: 'SORT_MERGE', inputStage: scanned } : scanned;
  return isSorted ? read : { stage: 'SORT', inputStage: read };
}

function getMore(cursors: Cursors, command: Command): Reply {
  return cursors.next(
    numberField(command, 'getMore', 0),
    numberField(command, 'batchSize', Number.POSITIVE_INFINITY),
  );
}

function killCursors(cursors: Cursors, command: Command): Reply {
  const ids = listField(command, 'cursors').map((id) => {
    const number = Number(String(id));
    if (!Number.isSafeInteger(number)) throw new StoreError('BadValue', 'a cursor id must be a number');
    return number;
  });
  const killed = cursors.kill(ids);
  const longs = (list: readonly number[]) => list.map((id) => Long.fromNumber(id));
  return {
    cursorsKilled: longs(killed),
    cursorsNotFound: longs(ids.filter((id) => !killed.includes(id))),
    cursorsAlive: [],
    cursorsUnknown: [],
  };
}
