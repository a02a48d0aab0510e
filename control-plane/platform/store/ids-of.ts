/** Only the ids of what matches, of any of the models whose ids are text. */
import type { Model } from 'mongoose';
import type { Models } from './models.ts';

/** Reads them. */
export async function idsOf(models: Models, name: keyof Models, filter: object): Promise<string[]> {
  const model = models[name] as unknown as Model<{ _id: string }>;
  return (await model.find(filter, { _id: 1 }).lean()).map(({ _id }) => _id);
}
