/** Parses external JSON and checks it against a schema in one step. */
import type { z } from 'zod';

/** The schema's result; null for malformed JSON and for JSON that fails the schema. */
export function parseJson<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const parsed = schema.safeParse(value);
  return parsed.success ? parsed.data : null;
}
