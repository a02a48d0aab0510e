/** API keys: request fields and API representation. */
import { z } from 'zod';
import type { KeyDocument } from '../../platform/store/models/key-model.ts';

/** Fields of a new key. */
export const newKeyFields = {
  name: z.string().min(1).max(120),
  expires_at: z.iso.datetime({ offset: true }).nullable().default(null),
  may_export_calls: z
    .literal(true)
    .optional()
    .describe('The key may export calls to files; only a key that may do so itself can create it'),
};

/** Response to the creation of a key; the only time the key is returned. */
export const createdKey = z.object({ key_id: z.string(), api_key: z.string() });

/** A key as it appears in lists. */
const keyRecord = z.object({
  key_id: z.string(),
  name: z.string(),
  expires_at: z.string().nullable(),
  created_at: z.string(),
  may_export_calls: z.literal(true).optional().describe('The key may export calls to files'),
});

/** A list of keys. */
export const keyList = z.object({ keys: z.array(keyRecord) });

/** Converts key documents to the key list. */
export function toKeyList(keys: readonly KeyDocument[]): z.output<typeof keyList> {
  return {
    keys: keys.map((key) => ({
      key_id: key._id,
      name: key.name,
      expires_at: key.expires_at?.toISOString() ?? null,
      created_at: key.created_at.toISOString(),
      ...(key.may_export_calls === true && { may_export_calls: true as const }),
    })),
  };
}

/** Parses the expiry field of a key. */
export function expiryOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}
