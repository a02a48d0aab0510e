/**
 * What a worker asks before it hands a caller of a number bought here on (`POST /internal/transfers`), and
 * what it is told.
 */
import { z } from 'zod';

export const transferQuestion = z.object({ session_id: z.string() });
export const transferPermission = z.object({ is_allowed: z.boolean() });
