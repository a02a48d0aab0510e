/** Reads only the ids of matching documents, for any model with string ids. */
import type { Model } from 'mongoose';
import type { Models } from './models.ts';

/** Reads the ids. */
export async function idsOf(models: Models, name: keyof Models, filter: object): Promise<string[]> {
  const model = models[name] as unknown as Model<{ _id: string }>;
  return (await model.find(filter, { _id: 1 }).lean()).map(({ _id }) => _id);
}
