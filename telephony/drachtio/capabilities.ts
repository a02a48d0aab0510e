import { ALLOW } from '../methods.ts';

/**
 * Headers of every request or response that begins or changes a dialog (RFC 3261 §20.5). Our requests do not
 * offer `timer`: a peer that wants a session timer refreshes it itself (RFC 4028 §9).
 */
export const CAPABILITIES = { Allow: ALLOW };
