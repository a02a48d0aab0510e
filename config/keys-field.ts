/** Keys and pauses in a request: the extension behind a number. */
import { z } from 'zod';
import { MAX_KEYS, readKeys } from './telephone-keys.ts';

/** `1w2345#`; the grammar is that of `readKeys`, without spaces and hyphens. */
export const keysField = z
  .string()
  .max(MAX_KEYS)
  .refine(
    (keys) => readKeys(keys) !== null && !/[ -]/.test(keys),
    'must be keys (0-9, *, #, A-D) and pauses (w half a second, W a second, a comma two seconds), with a ' +
      'key and at most a minute of pauses',
  );
