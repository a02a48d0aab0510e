/**
 * Media streams: phone calls whose audio a vendor brings over a WebSocket. The vendor connects to a control
 * plane; the call's worker connects to the same one, which passes the vendor's messages on in both
 * directions.
 */
import { z } from 'zod';

/** Vendors whose streams a number can have. */
export const streamVendor = z.enum(['twilio', 'telnyx', 'vonage', 'plivo']);
export type StreamVendor = z.output<typeof streamVendor>;

/** The events with which a vendor says that its stream has started. */
export const STREAM_STARTS: ReadonlySet<string> = new Set(['start', 'websocket:connected']);

/** Longest message, in both directions: audio comes in pieces of 20 ms. */
export const MAX_STREAM_MESSAGE_BYTES = 64 * 1024;

/** Below this path a worker joins the stream of a session, by its id. */
export const WORKER_STREAM_PATH = '/internal/streams/';

/** Why a side of a stream closes its connection (RFC 6455 §7.4.2: 4000 to 4999 are ours). */
export const STREAM_CLOSE = {
  /** A worker: the call is over. */
  hungUp: 4000,
  /** A worker: another one goes on with the call. */
  left: 4001,
  /** The control plane, to a worker: another one has joined. */
  replaced: 4002,
  /** The control plane, to a worker: the vendor has not come, or is gone. */
  noVendor: 4003,
  /** The control plane, to a worker: the vendor is connected to another replica; it must try again. */
  elsewhere: 4005,
} as const;
