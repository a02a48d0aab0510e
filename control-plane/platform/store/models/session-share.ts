/** What a session says of the share of calls that has decided its version. */

/** The two groups of calls: with the version of the share, and with the published one beside it. */
export const SHARE_ARMS = ['share', 'published'] as const;
export type ShareArm = (typeof SHARE_ARMS)[number];

/** What a session knows of its share. */
export interface SessionShare {
  readonly id: string;
  readonly arm: ShareArm;
  readonly version_number: number;
}
