/** An estimate in an answer of the API. */
import { z } from 'zod';

/** `low` and `high` bound it with 95 % confidence, and are null with too few calls. */
export const shareEstimate = z.object({
  value: z.number(),
  low: z.number().nullable(),
  high: z.number().nullable(),
});
