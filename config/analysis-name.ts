import { z } from 'zod';

/** The name of a field or of a criterion of the analysis. */
export const analysisName = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/);
