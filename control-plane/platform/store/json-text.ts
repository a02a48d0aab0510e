/**
 * Free JSON of tenants and visitors as the store keeps it: as text. As an object its keys would mean
 * something to the database and its driver (`$ref` with `$id` comes back as a reference, `_bsontype` and NUL
 * cannot be written at all).
 */

/** Text; an object in what an earlier version stored. */
export type JsonText = string | Readonly<Record<string, unknown>>;

/** Writes an object for the store. */
export function toJsonText(value: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(value);
}

/** Reads what the store has; what the driver made a reference of is an object again. */
export function fromJsonText(stored: JsonText): Record<string, unknown> {
  return JSON.parse(typeof stored === 'string' ? stored : JSON.stringify(stored)) as Record<string, unknown>;
}
