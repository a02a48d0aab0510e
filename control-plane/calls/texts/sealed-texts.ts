/** The contents of text sessions, sealed with the session's own data key; null once it is destroyed. */
import type { z } from 'zod';
import type { Sealer } from '#base/sealer.ts';
import type { Context } from '../../platform/context.ts';
import { type StoredBytes, toBuffer } from '../../platform/store/models/session-model.ts';
import type { TextSessionDocument } from '../../platform/store/models/text-session-model.ts';
import { sealerOf } from '../sessions/session-store.ts';

/** The key of a session; null once it is erased. */
export function sessionSealer(
  context: Pick<Context, 'dataKeys'>,
  session: Pick<TextSessionDocument, '_id' | 'wrapped_key'>,
): Sealer | null {
  return sealerOf(context, session);
}

/** Opens a text. */
export function openText(sealer: Sealer | null, sealed: StoredBytes | null, purpose: string): string | null {
  return sealer && sealed ? sealer.open(toBuffer(sealed), purpose).toString('utf8') : null;
}

/** Opens and parses a value. */
export function openJson<Schema extends z.ZodType>(
  sealer: Sealer | null,
  sealed: StoredBytes | null,
  purpose: string,
  schema: Schema,
): z.output<Schema> | null {
  const text = openText(sealer, sealed, purpose);
  return text === null ? null : schema.parse(JSON.parse(text));
}
