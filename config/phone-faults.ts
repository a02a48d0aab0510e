/** The faults of phones that register here; part of the table in `errors.ts`. */
import type { FaultEntry } from './fault-entry.ts';

/** Faults by code. */
export const PHONE_FAULTS = {
  phone_may_not_call: {
    status: 403,
    message: 'This phone may not call agents: set its may_call_agents',
    reason: 'phone_may_not_call',
    sip: 403,
  },
  extension_unknown: {
    status: 404,
    message: 'No agent of this account has the extension {extension}',
    reason: 'extension_unknown',
    sip: 404,
  },
  phone_not_registered: {
    status: 409,
    message: 'No phone with the extension {extension} is switched on and registered now',
    reason: 'phone_not_registered',
  },
  no_number_to_call_from: {
    status: 422,
    message: 'A call to an extension has no number to call out from: use a registered phone or a SIP address',
    reason: 'no_number_to_call_from',
  },
} as const satisfies Record<string, FaultEntry>;
