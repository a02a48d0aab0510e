/** Limits how many documents of a kind an account may have at once, such as jobs that wait. */
import type { Model, QueryFilter } from 'mongoose';
import { fault } from '#config/errors.ts';

/** A limit and how its refusal is explained. */
export interface StoredLimit {
  readonly limit: number;
  /** How many are to be added; 1 by default. */
  readonly more?: number;
  /** Names the things, and what to do, in the message. */
  readonly what: string;
  readonly remedy: string;
  readonly seconds: number;
}

/** Throws `too_many_at_once` if more would be too many. Reads at most `limit` entries of an index. */
export async function requireFewer<Stored>(
  model: Model<Stored>,
  filter: QueryFilter<Stored>,
  { limit, more = 1, ...explained }: StoredLimit,
): Promise<void> {
  if (limit === Number.POSITIVE_INFINITY) return;
  const stored = await model.countDocuments(filter).limit(limit);
  if (stored + more > limit) throw fault('too_many_at_once', { limit, ...explained });
}
