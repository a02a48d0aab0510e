/** API keys as callers ask for them and as the API shows them. */
import { z } from 'zod';
import type { KeyDocument } from '../../platform/store/models/key-model.ts';

/** Fields of a new key. */
export const newKeyFields = {
  name: z.string().min(1).max(120),
  expires_at: z.iso.datetime({ offset: true }).nullable().default(null),
};

/** Answer to the creation of a key: the only time it is shown. */
export const createdKey = z.object({ key_id: z.string(), api_key: z.string() });

/** A key as listed. */
const keyRecord = z.object({
  key_id: z.string(),
  name: z.string(),
  expires_at: z.string().nullable(),
  created_at: z.string(),
});

/** A list of keys. */
export const keyList = z.object({ keys: z.array(keyRecord) });

/** Shows keys. */
export function toKeyList(keys: readonly KeyDocument[]): z.output<typeof keyList> {
  return {
    keys: keys.map((key) => ({
      key_id: key._id,
      name: key.name,
      expires_at: key.expires_at?.toISOString() ?? null,
      created_at: key.created_at.toISOString(),
    })),
  };
}

/** When a key expires, from its field. */
export function expiryOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}
