/** The share of calls that has decided the version of a session, as the session stores it. */

/** The two groups of calls: with the version of the share, and with the published one beside it. */
export const SHARE_ARMS = ['share', 'published'] as const;
export type ShareArm = (typeof SHARE_ARMS)[number];

/** The share of a session. */
export interface SessionShare {
  readonly id: string;
  readonly arm: ShareArm;
  readonly version_number: number;
}
