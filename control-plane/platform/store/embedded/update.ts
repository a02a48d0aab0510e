/**
 * Updates: applies update expressions to a copy of a document, and finds, changes and inserts documents for
 * the update commands.
 */
import { type Document, decode, isDocument } from './bson-values.ts';
import { type Collection, rootOf } from './catalogue.ts';
import { beginReplacement, insertDocument, replaceDocument, type Store } from './documents.ts';
import { encodeKey } from './keys.ts';
import { pipelines } from './pipelines.ts';
import type { Sort } from './planner.ts';
import { predicatesOf } from './predicates.ts';
import { type ScannedRow, scan } from './scan.ts';
import { StoreError } from './store-error.ts';
import { isOperatorUpdate, UPDATE_OPERATORS } from './update-operators.ts';
import { compileArrayFilters, matchedPositions, type PathContext, resolvePath } from './update-paths.ts';

/** An update from a command. */
export interface UpdateRequest {
  readonly filter: Document;
  /** Operators, a replacement, or a pipeline. */
  readonly update: Document | readonly Document[];
  readonly isMulti: boolean;
  readonly isUpsert: boolean;
  readonly arrayFilters: readonly unknown[];
  readonly sort: Sort;
  /** Wall time for `$currentDate`. */
  readonly nowMs: number;
}

/** Result of an update. */
export interface UpdateResult {
  readonly matched: number;
  readonly modified: number;
  /** `_id` of the inserted document; undefined if none was inserted. */
  readonly upsertedId: unknown;
  /** The document before the update; decoded on demand. */
  readonly before: () => Document | null;
  readonly after: Document | null;
}

/** Updates the matching documents; for an upsert without a match, inserts one. */
export function updateDocuments(store: Store, collection: Collection, request: UpdateRequest): UpdateResult {
  const found: ScannedRow[] = [];
  for (const row of scan(store, collection, { filter: request.filter, sort: request.sort })) {
    found.push(row);
    if (!request.isMulti) break;
  }
  if (found.length === 0 && request.isUpsert) return upsert(store, collection, request);
  let modified = 0;
  let after: Document | null = null;
  const touched = touchedFields(request.update);
  for (const row of found) {
    const document = row.document();
    const replacement = beginReplacement(collection, row, document, touched);
    after = applyUpdate(document, request, false);
    if (replaceDocument(store, collection, replacement, after)) modified += 1;
  }
  const last = found.at(-1);
  return {
    matched: found.length,
    modified,
    upsertedId: undefined,
    before: () => (last ? decode(last.bytes) : null),
    after,
  };
}

/** Top-level fields that an operator update may change; null means any. */
export function touchedFields(update: UpdateRequest['update']): ReadonlySet<string> | null {
  if (Array.isArray(update) || !isOperatorUpdate(update as Document)) return null;
  const touched = new Set<string>();
  for (const [operator, fields] of Object.entries(update)) {
    for (const [path, operand] of Object.entries(isDocument(fields) ? fields : {})) {
      touched.add(rootOf(path));
      if (operator === '$rename') touched.add(rootOf(String(operand)));
    }
  }
  return touched;
}

function upsert(store: Store, collection: Collection, request: UpdateRequest): UpdateResult {
  const inserted = insertDocument(store, collection, documentOfUpsert(request));
  return { matched: 0, modified: 0, upsertedId: inserted['_id'], before: () => null, after: inserted };
}

/** The document an upsert inserts: the filter's equality conditions, to which the update is then applied. */
export function documentOfUpsert(request: UpdateRequest): Document {
  const seed: Document = {};
  for (const [path, { equals }] of predicatesOf(request.filter).fields) {
    if (equals?.length !== 1 || path.startsWith('$')) continue;
    for (const place of resolvePath(seed, path, NO_CONTEXT, true)) place.write(equals[0]);
  }
  seedWholeValues(seed, request.filter);
  return applyUpdate(seed, request, true);
}

const NO_CONTEXT: PathContext = { matchedAt: () => undefined, arrayFilters: new Map() };

/**
 * Equality with a whole array or document cannot use keys, but still contributes to the inserted document.
 */
function seedWholeValues(seed: Document, filter: Document): void {
  for (const [path, condition] of Object.entries(filter)) {
    const isWhole =
      Array.isArray(condition) ||
      (isDocument(condition) && !Object.keys(condition).some((key) => key.startsWith('$')));
    if (!path.startsWith('$') && isWhole)
      for (const place of resolvePath(seed, path, NO_CONTEXT, true)) place.write(condition);
  }
}

/** Applies an update, possibly changing the document in place. Throws where MongoDB would. */
export function applyUpdate(document: Document, request: UpdateRequest, isInserting: boolean): Document {
  const { update } = request;
  const id = document['_id'];
  // A path may lead into `_id` and change it in place.
  const idKey = id === undefined ? null : encodeKey(id);
  let result: Document;
  if (Array.isArray(update)) result = applyPipeline(document, update);
  else if (isOperatorUpdate(update as Document))
    result = applyOperators(document, update as Document, request, isInserting);
  else result = { ...(id !== undefined && { _id: id }), ...update };
  if (idKey && !idKey.equals(encodeKey(result['_id']))) {
    throw new StoreError(
      'ImmutableField',
      "Performing an update on the path '_id' would modify the immutable field '_id'",
    );
  }
  return result;
}

const UPDATE_STAGES = new Set(['$set', '$addFields', '$unset', '$project', '$replaceRoot', '$replaceWith']);

function applyPipeline(document: Document, pipeline: readonly Document[]): Document {
  for (const stage of pipeline) {
    const [name] = Object.keys(stage);
    if (name === undefined || !UPDATE_STAGES.has(name))
      throw new StoreError('BadValue', `${name} is not allowed in an update`);
  }
  const { Aggregator } = pipelines();
  const [result] = new Aggregator([...pipeline], { scriptEnabled: false }).run<Document>([document]);
  return result ?? document;
}

function applyOperators(
  document: Document,
  update: Document,
  request: UpdateRequest,
  isInserting: boolean,
): Document {
  const steps = Object.entries(update).flatMap(([operator, fields]) => {
    if (!isDocument(fields))
      throw new StoreError('FailedToParse', `the argument of ${operator} must be an object`);
    return Object.entries(fields).map(([path, operand]) => ({ operator, path, operand }));
  });
  requireNoConflict(steps);
  const context: PathContext = {
    matchedAt: steps.some(({ path }) => path.includes('.$'))
      ? matchedPositions(document, request.filter)
      : () => undefined,
    arrayFilters: compileArrayFilters(request.arrayFilters),
  };
  for (const step of steps) applyStep(document, step, { context, nowMs: request.nowMs, isInserting });
  return document;
}

interface UpdateOperation {
  readonly operator: string;
  readonly path: string;
  readonly operand: unknown;
}

interface StepContext {
  readonly context: PathContext;
  readonly nowMs: number;
  readonly isInserting: boolean;
}

function applyStep(
  document: Document,
  { operator, path, operand }: UpdateOperation,
  { context, nowMs, isInserting }: StepContext,
): void {
  if (operator === '$rename') {
    rename(document, path, operand);
    return;
  }
  if (operator === '$setOnInsert' && !isInserting) return;
  const known = operator === '$setOnInsert' ? UPDATE_OPERATORS['$set'] : UPDATE_OPERATORS[operator];
  if (!known) throw new StoreError('FailedToParse', `Unknown modifier: ${operator}`);
  for (const place of resolvePath(document, path, context, known.creates))
    known.apply({ place, operand, path, nowMs });
}

function rename(document: Document, path: string, target: unknown): void {
  if (typeof target !== 'string') throw new StoreError('BadValue', 'the target of $rename must be a path');
  for (const place of resolvePath(document, path, NO_CONTEXT, false)) {
    const value = place.read();
    place.remove();
    for (const destination of resolvePath(document, target, NO_CONTEXT, true)) destination.write(value);
  }
}

/** Two operators must not use the same path, or a path and one below it. */
function requireNoConflict(steps: readonly UpdateOperation[]): void {
  const paths = steps
    .flatMap(({ operator, path, operand }) => (operator === '$rename' ? [path, String(operand)] : [path]))
    .sort();
  for (const [at, path] of paths.entries()) {
    const conflict = paths.slice(at + 1).find((other) => other === path || other.startsWith(`${path}.`));
    if (conflict !== undefined) {
      throw new StoreError(
        'ConflictingUpdateOperators',
        `Updating the path '${conflict}' would create a conflict at '${path}'`,
      );
    }
  }
}
