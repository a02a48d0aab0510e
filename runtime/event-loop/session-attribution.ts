/**
 * Names the session whose work runs, so that the supervisor can name it when it kills a hung worker. The name
 * holds until the work returns and not across an `await`: it is reported only when certain.
 */

/** Runs work under the name of one session and returns its result. Costs less than a microsecond. */
export type Within = <T>(work: () => T) => T;

/** Runs work without a name. */
export const nameless: Within = (work) => work();
