/** JSON from outside, read by a schema in one step: what is no JSON and what does not fit are the same to whoever asked. */
import type { z } from 'zod';

/** The value the schema makes of the text; null when it is not JSON or does not fit. */
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
