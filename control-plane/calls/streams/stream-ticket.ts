/**
 * Tickets for media streams: the address that a vendor is told to connect to contains one. It stands for one
 * admitted call, and admits one connection within a short time.
 */
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { SealBroken } from '#base/sealer.ts';
import type { Context } from '../../platform/context.ts';

/** Below this path a vendor connects, with its ticket. */
export const VENDOR_STREAM_PATH = '/carriers/streams/';

/** Purpose of the seal. */
const PURPOSE = 'media-stream';
/** A vendor connects at once. */
const VALID_MS = 60_000;
const MAX_CHARS = 1_024;

const ticket = z.object({ session_id: z.string(), expires_ms: z.number() });
type StreamTicket = z.output<typeof ticket>;

/** The address for the vendor. */
export function streamAddress(
  { secretBox, clock, publicAddress }: Pick<Context, 'secretBox' | 'clock' | 'publicAddress'>,
  sessionId: string,
): string {
  const plain: StreamTicket = { session_id: sessionId, expires_ms: clock.wallTime() + VALID_MS };
  const base = publicAddress.url.replace(/^http/, 'ws');
  return `${base}${VENDOR_STREAM_PATH}${secretBox.seal(JSON.stringify(plain), PURPOSE)}`;
}

/** Uses a ticket up: the id of its session; null if it is not ours, has expired or was used before. */
export async function redeemTicket(
  { secretBox, clock, coordination }: Pick<Context, 'secretBox' | 'clock' | 'coordination'>,
  text: string,
): Promise<string | null> {
  const used = text.length > MAX_CHARS ? null : open(secretBox, text);
  if (!used || used.expires_ms < clock.wallTime()) return null;
  // The vendor may have asked again and got a second ticket for the call.
  const isFirst = await coordination.claim(`media-stream:${used.session_id}`, 2 * VALID_MS);
  return isFirst ? used.session_id : null;
}

function open(secretBox: Context['secretBox'], text: string): StreamTicket | null {
  try {
    return parseJson(ticket, secretBox.open(text, PURPOSE));
  } catch (error) {
    if (error instanceof SealBroken) return null;
    throw error;
  }
}
