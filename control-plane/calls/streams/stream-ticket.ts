/**
 * Tickets for media streams: the address that a vendor is told to connect to contains one. It stands for one
 * admitted call, and admits one connection within a short time.
 */
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { SealBroken } from '#base/sealer.ts';
import { streamVendor } from '#protocol/media-streams.ts';
import type { Context } from '../../platform/context.ts';

/** Below this path a vendor connects, with its ticket. */
export const VENDOR_STREAM_PATH = '/carriers/streams/';

/** Purpose of the seal. */
const PURPOSE = 'media-stream';
/** A vendor connects at once. */
const VALID_MS = 60_000;
const MAX_CHARS = 1_024;

const ticket = z.object({ session_id: z.string(), vendor: streamVendor, expires_ms: z.number() });
export type StreamTicket = Pick<z.output<typeof ticket>, 'session_id' | 'vendor'>;

/** The address for the vendor. */
export function streamAddress(
  { secretBox, clock, publicAddress }: Pick<Context, 'secretBox' | 'clock' | 'publicAddress'>,
  of: StreamTicket,
): string {
  const plain: z.output<typeof ticket> = { ...of, expires_ms: clock.wallTime() + VALID_MS };
  const base = publicAddress.url.replace(/^http/, 'ws');
  return `${base}${VENDOR_STREAM_PATH}${secretBox.seal(JSON.stringify(plain), PURPOSE)}`;
}

/** Uses a ticket up; null if it is not ours, has expired or was used before. */
export async function redeemTicket(
  { secretBox, clock, coordination }: Pick<Context, 'secretBox' | 'clock' | 'coordination'>,
  text: string,
): Promise<StreamTicket | null> {
  const used = text.length > MAX_CHARS ? null : open(secretBox, text);
  if (!used || used.expires_ms < clock.wallTime()) return null;
  // A call may have got a second ticket until its stream came.
  return (await coordination.claim(`media-stream:${used.session_id}`, 2 * VALID_MS)) ? used : null;
}

function open(secretBox: Context['secretBox'], text: string): z.output<typeof ticket> | null {
  try {
    return parseJson(ticket, secretBox.open(text, PURPOSE));
  } catch (error) {
    if (error instanceof SealBroken) return null;
    throw error;
  }
}
