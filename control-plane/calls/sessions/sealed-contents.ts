/** The contents of calls and text sessions, sealed with the data key of their session (`sealerOf`). */
import type { z } from 'zod';
import type { Sealer } from '#base/sealer.ts';
import { type StoredBytes, toBuffer } from '../../platform/store/models/session-model.ts';

/** Opens a text; null without one, and once the key is destroyed. */
export function openText(
  sealer: Sealer | null,
  sealed: StoredBytes | null | undefined,
  purpose: string,
): string | null {
  return sealer && sealed ? sealer.open(toBuffer(sealed), purpose).toString('utf8') : null;
}

/** Opens and parses a value; null without one, and once the key is destroyed. */
export function openJson<Schema extends z.ZodType>(
  sealer: Sealer | null,
  sealed: StoredBytes | null | undefined,
  purpose: string,
  schema: Schema,
): z.output<Schema> | null {
  const text = openText(sealer, sealed, purpose);
  return text === null ? null : schema.parse(JSON.parse(text));
}
