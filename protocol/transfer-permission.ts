/**
 * A worker's question before it transfers a caller of a number bought here (`POST /internal/transfers`), and
 * the answer.
 */
import { z } from 'zod';

export const transferQuestion = z.object({ session_id: z.string() });
export const transferPermission = z.object({ is_allowed: z.boolean() });
