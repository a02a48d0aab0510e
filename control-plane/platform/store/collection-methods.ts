/** The methods with which models write to a collection; the models' own methods end in these. */
export const WRITE_METHODS = [
  'insertOne',
  'insertMany',
  'bulkWrite',
  'updateOne',
  'updateMany',
  'replaceOne',
  'deleteOne',
  'deleteMany',
  'findOneAndUpdate',
  'findOneAndReplace',
  'findOneAndDelete',
] as const;

/** Calls `listener` before and after every write to a collection, even if the write fails. */
export function onWrites(collection: object, listener: (isOver: boolean) => void): void {
  const methods = collection as Record<string, (...values: unknown[]) => unknown>;
  for (const name of [...WRITE_METHODS, 'drop']) {
    const write = methods[name];
    if (!write) throw new Error(`a collection without ${name}`);
    methods[name] = async (...values) => {
      listener(false);
      try {
        return await write.apply(collection, values);
      } finally {
        listener(true);
      }
    };
  }
}
