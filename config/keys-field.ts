/** Keys and pauses in a request: the extension behind a number. */
import { z } from 'zod';
import { MAX_KEYS, readKeys } from './telephone-keys.ts';

/** `1w2345#`; the grammar is that of `readKeys`, without spaces and hyphens. */
export const keysField = z
  .string()
  .max(MAX_KEYS)
  .regex(/^[0-9*#A-Da-dwW,]+$/, 'must be the keys 0-9, *, # and A-D, and the pauses w, W and comma')
  .refine((keys) => readKeys(keys) !== null, 'must have a key, and no more than a minute of pauses');
