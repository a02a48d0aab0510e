/** How every schema of the store is made. */
import { Schema, type SchemaDefinition, type SchemaOptions } from 'mongoose';

/**
 * A schema whose fields may be called `type`, as many of the product's are: a field's options stand under
 * `$type` (`{ name: String, age: { $type: Number, default: 0 }, type: String }`). No `__v` field (documents
 * that need a guard carry a `rev` of their own) and no dropping of empty objects, which are values.
 */
export function documentSchema<T>(definition: SchemaDefinition, options: SchemaOptions = {}): Schema<T> {
  return new Schema(
    { ...definition },
    { versionKey: false, minimize: false, ...options, typeKey: '$type' },
  ) as unknown as Schema<T>;
}
