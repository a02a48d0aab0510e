/** All messages of RFC 4475, in its order. */
import { INVALID } from './invalid.ts';
import { SEMANTICS } from './semantics.ts';
import type { TortureMessage } from './torture-message.ts';
import { VALID } from './valid.ts';

export const TORTURE_MESSAGES: readonly TortureMessage[] = [...VALID, ...INVALID, ...SEMANTICS];
