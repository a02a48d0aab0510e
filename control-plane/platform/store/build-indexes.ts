/**
 * The indexes of all models. A unique index guards a rule, so the store must not be used without it. The
 * others only make queries fast: on a large collection they take minutes, which nobody should wait for.
 */
import { createHash } from 'node:crypto';
import mongoose, { type Collection } from 'mongoose';
import { RETIRED_ROW_INDEXES } from './models/batch-call-model.ts';
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
    for (const index of wanted)
      if (which === 'all' || (index.unique === true) === (which === 'unique'))
        await ensureIndex(collection, index, wanted);
  }
  if (which !== 'unique') await dropIndexes(models.batchRows.collection, RETIRED_ROW_INDEXES);
}

type IndexedCollection = Pick<Collection, 'createIndex' | 'dropIndex' | 'listIndexes'>;

/** `wanted` are all indexes of the collection: none of them is outdated. */
async function ensureIndex(
  collection: IndexedCollection,
  index: IndexDefinition,
  wanted: readonly IndexDefinition[],
): Promise<void> {
  const { key, ...options } = index;
  const name = index.name ?? Object.entries(key).flat().join('_');
  /** False if it conflicts with another index. */
  const create = async (as: string) => {
    try {
      await collection.createIndex(key as never, { ...options, name: as } as never);
      return true;
    } catch (error) {
      if (error instanceof mongoose.mongo.MongoServerError && CONFLICTS.has(error.code)) return false;
      throw error;
    }
  };
  // No other definition has this name: a replica that drops an outdated one late does not hit the new one.
  const ownName = `${name}_${hashOf(index)}`;
  const isThere = async () => (await listIndexes(collection)).some((each) => isSame(each, index));
  const isBeside = (await create(name)) || (await isThere()) || (await create(ownName));
  const present = await listIndexes(collection);
  const outdated = present
    .filter((each) => isFormOf(each, { name, key }))
    .filter((each) => !wanted.some((other) => isSame(each, other)))
    .flatMap((each) => each.name ?? []);
  await dropIndexes(collection, outdated);
  // Another replica may have created it under the first name meanwhile.
  if (!isBeside && !(await create(ownName)) && !(await isThere()))
    throw new Error(`the index ${name} conflicts with another one`);
}

/** Whether an index is a definition of this one, of this or an earlier release. */
function isFormOf(each: IndexDefinition, { name, key }: { readonly name: string; readonly key: object }) {
  return (
    each.name === name ||
    OWN_NAME.exec(each.name ?? '')?.groups?.['name'] === name ||
    JSON.stringify(each.key) === JSON.stringify(key)
  );
}

function hashOf(index: IndexDefinition): string {
  return createHash('sha256').update(definitionOf(index)).digest('hex').slice(0, NAME_DIGITS);
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
