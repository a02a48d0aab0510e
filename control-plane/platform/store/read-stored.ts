/**
 * Reads documents without mongoose, for reads that every control plane repeats every second or two, calls or
 * not. Making and casting a query of mongoose costs more than the driver and a small answer together.
 */
import type { Model } from 'mongoose';

/** Reads documents as they are stored. Nothing is cast: values of the filter have the types of the fields. */
export async function readStored<Stored, Read = Stored>(
  model: Model<Stored>,
  filter: object,
  options: {
    readonly projection?: object;
    readonly sort?: Readonly<Record<string, 1 | -1>>;
    readonly limit?: number;
  },
): Promise<Read[]> {
  return (await model.collection.find(filter as never, options as never).toArray()) as Read[];
}
