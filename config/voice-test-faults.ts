/** The faults of voice tests; part of the table in `errors.ts`. */
import type { FaultEntry } from './fault-entry.ts';

/** Faults by code. */
export const VOICE_TEST_FAULTS = {
  tested_version_unknown: {
    status: 404,
    message: 'The agent has no version {version}: take one of its list of versions, or `draft`',
    reason: 'tested_version_unknown',
    sip: 404,
  },
  call_has_no_such_fault: {
    status: 409,
    message: 'The call has no such fault: {detail}',
    reason: 'call_has_no_such_fault',
  },
} as const satisfies Record<string, FaultEntry>;
