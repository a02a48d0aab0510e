/** Shared settings of all schemas in the store. */
import { Schema, type SchemaDefinition, type SchemaOptions } from 'mongoose';

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
