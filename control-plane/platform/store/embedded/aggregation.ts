/**
 * Aggregations: leading `$match`, `$sort`, `$skip` and `$limit` stages use the indexes; mingo runs the rest
 * of the pipeline.
 */
import type { Context } from 'mingo';
import type { Iterator } from 'mingo/lazy';
import type { AnyObject } from 'mingo/types';
import { type Document, encode, isDocument } from './bson-values.ts';
import { type Command, documentsField, namespaceOf, sortField } from './command-fields.ts';
import { compileFilter } from './matcher.ts';
import { pipelines } from './pipelines.ts';
import type { Sort } from './planner.ts';
import type { ReadContext } from './read-context.ts';
import { count, limited, type ScannedRow, scan, sortKey } from './scan.ts';
import { StoreError, unsupported } from './store-error.ts';

const STAGES = new Set([
  '$match',
  '$sort',
  '$skip',
  '$limit',
  '$group',
  '$unwind',
  '$project',
  '$set',
  '$addFields',
  '$unset',
  '$count',
  '$facet',
  '$lookup',
  '$replaceRoot',
  '$replaceWith',
  '$sortByCount',
  '$bucket',
  '$bucketAuto',
  '$unionWith',
  '$setWindowFields',
  '$sample',
]);

/** Yields the results of an aggregation, encoded one at a time. */
export function* aggregate(context: ReadContext, command: Command): Generator<Uint8Array> {
  const pipeline = documentsField(command, 'pipeline');
  pipeline.forEach(checkStage);
  const { filter, rest: afterMatch } = leadingMatch(pipeline);
  const collection = context.store.catalogue.find(namespaceOf(command));
  const counted = countStage(afterMatch);
  if (counted) {
    const total = count(context.store, collection, filter, context.onExamined);
    if (total > 0) yield encode(counted(total));
    return;
  }
  const { sort, skip, limit, rest } = leadingOrder(afterMatch);
  const found = limited(scan(context.store, collection, { filter, sort }, context.onExamined), skip, limit);
  if (rest.length === 0) for (const row of found) yield row.bytes;
  else for (const result of runPipeline(context, command, rest, documentsOf(found))) yield encode(result);
}

function* documentsOf(found: Iterable<ScannedRow>): Generator<Document> {
  for (const row of found) yield row.document();
}

function checkStage(stage: Document): void {
  const [name, ...others] = Object.keys(stage);
  if (name === undefined || others.length > 0)
    throw new StoreError('BadValue', 'a pipeline stage must have exactly one field');
  if (name === '$changeStream') throw unsupported('a change stream');
  if (!STAGES.has(name)) throw unsupported(`the aggregation stage ${name}`);
  const nested = stage[name];
  if (name === '$match' && isDocument(nested)) compileFilter(nested);
  if (name === '$facet' && isDocument(nested)) {
    for (const branch of Object.values(nested))
      if (Array.isArray(branch)) branch.filter(isDocument).forEach(checkStage);
  }
  if (isDocument(nested) && Array.isArray(nested['pipeline']))
    nested['pipeline'].filter(isDocument).forEach(checkStage);
}

function leadingMatch(pipeline: readonly Document[]): {
  readonly filter: Document;
  readonly rest: readonly Document[];
} {
  const firstOther = pipeline.findIndex((stage) => !isDocument(stage['$match']));
  const end = firstOther < 0 ? pipeline.length : firstOther;
  const filters = pipeline.slice(0, end).map((stage) => stage['$match'] as Document);
  const [only] = filters;
  const filter = filters.length === 1 && only ? only : filters.length === 0 ? {} : { $and: filters };
  return { filter, rest: pipeline.slice(end) };
}

/**
 * Recognises `countDocuments`, sent as `[{$match}, {$group: {_id: 1, n: {$sum: 1}}}]`, which an index alone
 * can often answer.
 */
function countStage(rest: readonly Document[]): ((total: number) => Document) | null {
  const [stage] = rest;
  if (!stage || rest.length !== 1) return null;
  const name = stage['$count'];
  if (typeof name === 'string') return (total) => ({ [name]: total });
  const group = stage['$group'];
  if (!isDocument(group) || Object.keys(group).length !== 2 || !isDocument(group['n'])) return null;
  const isConstant = group['_id'] === 1 || group['_id'] === null;
  return isConstant && group['n']['$sum'] === 1 ? (total) => ({ _id: group['_id'], n: total }) : null;
}

function leadingOrder(stages: readonly Document[]): {
  readonly sort: Sort;
  readonly skip: number;
  readonly limit: number;
  readonly rest: readonly Document[];
} {
  const rest = [...stages];
  const take = (name: string): Document | null =>
    rest[0] && name in rest[0] ? (rest.shift() ?? null) : null;
  const sort = take('$sort');
  const skip = take('$skip');
  const limit = take('$limit');
  return {
    sort: sort ? sortField(sort, '$sort') : {},
    skip: Number(skip?.['$skip'] ?? 0),
    limit: Number(limit?.['$limit'] ?? 0),
    rest,
  };
}

let operators: Context | null = null;

/** mingo's filters and sort order differ from MongoDB's in details, so pipelines use ours too. */
function operatorsOf({ Context }: ReturnType<typeof pipelines>): Context {
  operators ??= Context.init({
    pipeline: {
      $match: (rows: Iterator, filter: AnyObject) =>
        rows.filter((row) => compileFilter(filter)(row as Document)),
      $sort: (rows: Iterator, sort: AnyObject) =>
        rows.transform((all) => inOrder(all as Document[], sortField({ sort }, 'sort'))),
    } as unknown as PipelineOperators,
  });
  return operators;
}

type PipelineOperators = NonNullable<NonNullable<Parameters<typeof Context.init>[0]>['pipeline']>;

function inOrder(documents: readonly Document[], sort: Sort): Iterator {
  const sorted = documents
    .map((document) => ({ document, key: sortKey(document, sort) }))
    .sort((left, right) => Buffer.compare(left.key, right.key))
    .map(({ document }) => document);
  // The library only calls `next`.
  return sorted.values() as unknown as Iterator;
}

function runPipeline(
  context: ReadContext,
  command: Command,
  pipeline: readonly Document[],
  documents: Iterable<Document>,
): Document[] {
  const { store, onExamined } = context;
  const database = namespaceOf(command).split('.')[0];
  const library = pipelines();
  const aggregator = new library.Aggregator([...pipeline], {
    context: operatorsOf(library),
    scriptEnabled: false,
    collectionResolver: (name) => [
      ...documentsOf(scan(store, store.catalogue.find(`${database}.${name}`), { filter: {} }, onExamined)),
    ],
  });
  try {
    return aggregator.run<Document>([...documents]);
  } catch (error) {
    if (library.isRefusal(error)) throw new StoreError('BadValue', error.message);
    throw error;
  }
}
