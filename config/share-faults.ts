/** The faults of shares of calls; part of the table in `errors.ts`. */
import type { FaultEntry } from './fault-entry.ts';

/** Faults by code. */
export const SHARE_FAULTS = {
  share_not_set: {
    status: 404,
    message: 'This agent has never had a share of calls: set one with PUT …/share',
    reason: 'share_not_set',
  },
  share_version_unknown: {
    status: 404,
    message: 'The agent has no version {version}: take one of its list of versions, or none for the draft',
    reason: 'share_version_unknown',
  },
  share_of_published: {
    status: 409,
    message: 'A share needs a version that differs from the published one: change the draft, or name another',
    reason: 'share_of_published',
  },
  share_not_running: {
    status: 409,
    message: 'No share of calls is running: GET …/share says how the last one ended',
    reason: 'share_not_running',
  },
} as const satisfies Record<string, FaultEntry>;
