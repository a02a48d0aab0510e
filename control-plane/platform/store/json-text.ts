/**
 * Stores free-form JSON from tenants and visitors as text. In a stored object, some keys have a meaning to
 * the database and its driver: `$ref` with `$id` is returned as a reference, and `_bsontype` and NUL cannot
 * be written at all.
 */

/** Text, or an object stored by an earlier version. */
export type JsonText = string | Readonly<Record<string, unknown>>;

/** Encodes an object for the store. */
export function toJsonText(value: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(value);
}

/** Decodes a stored value; a driver reference becomes an object again. */
export function fromJsonText(stored: JsonText): Record<string, unknown> {
  return JSON.parse(typeof stored === 'string' ? stored : JSON.stringify(stored)) as Record<string, unknown>;
}
