/** Shared settings of all schemas in the store. */
import { type Connection, type Model, Schema, type SchemaDefinition, type SchemaOptions } from 'mongoose';

/** For code outside the store that works with a model of any kind of document. */
export type { Model, UpdateQuery } from 'mongoose';

/**
 * Creates a schema whose fields may be named `type`, as many of the product's are: field options use `$type`
 * instead (`{ name: String, age: { $type: Number, default: 0 }, type: String }`). Omits `__v` (documents that
 * need a guard have their own `rev`) and keeps empty objects, which are values.
 */
export function documentSchema<T>(definition: SchemaDefinition, options: SchemaOptions = {}): Schema<T> {
  return new Schema(
    { ...definition },
    { versionKey: false, minimize: false, ...options, typeKey: '$type' },
  ) as unknown as Schema<T>;
}

/**
 * Returns what defines this model on a connection. Its schema is built at the first use: all connections of a
 * process share it, of which tests open hundreds.
 */
export function modelOf<T>(name: string, build: () => Schema<T>): (connection: Connection) => Model<T> {
  let schema: Schema<T> | null = null;
  return (connection) => {
    schema ??= build();
    return connection.model<T>(name, schema);
  };
}
