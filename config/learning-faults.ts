/** The faults of learners; part of the table in `errors.ts`. */
import type { FaultEntry } from './fault-entry.ts';

/** Faults by code. */
export const LEARNING_FAULTS = {
  learning_not_set: {
    status: 404,
    message: 'This agent does not learn: set the bounds of its learner with PUT …/learning',
    reason: 'learning_not_set',
  },
} as const satisfies Record<string, FaultEntry>;
