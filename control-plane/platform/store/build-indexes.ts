/**
 * The indexes of all models. A unique index guards a rule, so the store must not be used without it. The
 * others only make queries fast. On a large collection they take minutes to build, so the start does not wait
 * for them.
 */
import { createHash } from 'node:crypto';
import mongoose, { type Collection } from 'mongoose';
import { isDatabaseAway } from './database-away.ts';
import { RETIRED_ROW_INDEXES } from './models/batch-call-model.ts';
import { RETIRED_SESSION_INDEXES } from './models/session-indexes.ts';
import { RETIRED_TEXT_SESSION_INDEXES } from './models/text-session-model.ts';
import type { Models } from './models.ts';

/** Error codes: the index exists with other options, or under another name. */
const CONFLICTS = new Set<unknown>([85, 86]);
const NAME_DIGITS = 8;
/** Name of an index that replaced another one of the same name. */
const OWN_NAME = /^(?<name>.+)_[0-9a-f]{8}$/;

/** An index as MongoDB lists it, and as a schema wants it. */
interface IndexDefinition {
  readonly name?: string | undefined;
  readonly key: object;
  readonly unique?: boolean;
  readonly sparse?: boolean;
  readonly partialFilterExpression?: object;
  readonly expireAfterSeconds?: number;
}

/**
 * Builds all indexes, or only the unique ones, or only the others; resolves when they can be used. It may run
 * on several replicas at once. An index that an earlier release defined otherwise is replaced: as far as
 * MongoDB permits, only once the new one is there.
 */
export async function buildIndexes(
  models: Models,
  which: 'all' | 'unique' | 'others' = 'all',
): Promise<void> {
  for (const { collection, schema } of Object.values(models)) {
    const wanted = schema.indexes().map(([key, given]): IndexDefinition => {
      const { background: _, ...options } = given as Record<string, unknown>;
      return { ...options, key };
    });
    const chosen = wanted.filter(({ unique = false }) => which === 'all' || unique === (which === 'unique'));
    if (chosen.length > 0) await ensureIndexes(collection, chosen, wanted);
  }
  if (which === 'unique') return;
  // Those that replace them are there.
  await dropIndexes(models.batchRows.collection, RETIRED_ROW_INDEXES);
  await dropIndexes(models.sessions.collection, RETIRED_SESSION_INDEXES);
  await dropIndexes(models.textSessions.collection, RETIRED_TEXT_SESSION_INDEXES);
}

type IndexedCollection = Pick<Collection, 'createIndexes' | 'dropIndex' | 'listIndexes'>;

/** `wanted` are all indexes of the collection: none of them is outdated. */
async function ensureIndexes(
  collection: IndexedCollection,
  chosen: readonly IndexDefinition[],
  wanted: readonly IndexDefinition[],
): Promise<void> {
  const blocked: IndexDefinition[] = [];
  // One command for all of them, unless one is refused.
  if (!(await createIndexes(collection, chosen, nameOf)))
    for (const index of chosen) {
      const isThere =
        (await createIndexes(collection, [index], nameOf)) ||
        (await hasIndex(collection, index)) ||
        (await createIndexes(collection, [index], ownNameOf));
      if (!isThere) blocked.push(index);
    }
  const outdated = (await listIndexes(collection))
    .filter((each) => chosen.some((index) => isFormOf(each, index)))
    .filter((each) => !wanted.some((other) => isSame(each, other)));
  await dropIndexes(
    collection,
    outdated.flatMap(({ name }) => name ?? []),
  );
  for (const index of blocked) {
    // Another replica may have created it under the first name meanwhile.
    if (!(await createIndexes(collection, [index], ownNameOf)) && !(await hasIndex(collection, index)))
      throw new Error(`the index ${nameOf(index)} conflicts with another one`);
  }
}

/**
 * Creates indexes under the names of `named`, or waits for their builds; false, and none is created, if one
 * conflicts with an existing one, or if one of several cannot be built.
 */
async function createIndexes(
  collection: IndexedCollection,
  indexes: readonly IndexDefinition[],
  named: (index: IndexDefinition) => string,
): Promise<boolean> {
  try {
    await collection.createIndexes(indexes.map((index) => ({ ...index, name: named(index) })) as never);
    return true;
  } catch (error) {
    const isRefused = error instanceof mongoose.mongo.MongoServerError && !isDatabaseAway(error);
    if (isRefused && (CONFLICTS.has(error.code) || indexes.length > 1)) return false;
    throw error;
  }
}

async function hasIndex(collection: IndexedCollection, index: IndexDefinition): Promise<boolean> {
  return (await listIndexes(collection)).some((each) => isSame(each, index));
}

function nameOf({ name, key }: IndexDefinition): string {
  return name ?? Object.entries(key).flat().join('_');
}

/** A name of this definition alone: a replica that drops an outdated one late does not hit the new one. */
function ownNameOf(index: IndexDefinition): string {
  const hash = createHash('sha256').update(definitionOf(index)).digest('hex');
  return `${nameOf(index)}_${hash.slice(0, NAME_DIGITS)}`;
}

/** Whether an index is a definition of this one, of this or an earlier release. */
function isFormOf(each: IndexDefinition, index: IndexDefinition): boolean {
  const name = nameOf(index);
  return (
    each.name === name ||
    OWN_NAME.exec(each.name ?? '')?.groups?.['name'] === name ||
    JSON.stringify(each.key) === JSON.stringify(index.key)
  );
}

function isSame(one: IndexDefinition, other: IndexDefinition): boolean {
  return definitionOf(one) === definitionOf(other);
}

function definitionOf(index: IndexDefinition): string {
  const { key, unique = false, sparse = false, partialFilterExpression, expireAfterSeconds } = index;
  return JSON.stringify([key, unique, sparse, partialFilterExpression, expireAfterSeconds]);
}

/** Drops those of the indexes that exist. */
export async function dropIndexes(collection: IndexedCollection, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const present = await listIndexes(collection);
  for (const { name } of present)
    if (name !== undefined && names.includes(name))
      await collection.dropIndex(name).catch((error: unknown) => {
        // Another replica dropped it first.
        if (!hasCodeName(error, 'IndexNotFound')) throw error;
      });
}

async function listIndexes(collection: IndexedCollection): Promise<readonly IndexDefinition[]> {
  return collection
    .listIndexes()
    .toArray()
    .catch((error: unknown) => {
      // Without the collection there are no indexes.
      if (hasCodeName(error, 'NamespaceNotFound')) return [];
      throw error;
    });
}

function hasCodeName(error: unknown, codeName: string): boolean {
  return error instanceof mongoose.mongo.MongoServerError && error.codeName === codeName;
}
