/**
 * Uploads of workers for sessions (`POST /internal/uploads`): segments of recordings and chunks of flight
 * logs, those of many calls in one request. The body is the length of an index (four bytes, big-endian), the
 * index in JSON, and the bytes of its entries in order.
 */
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';

const count = z.number().int().min(0).max(1_000_000);
const ofSession = { session_id: z.string(), epoch: z.number().int().min(1), bytes: z.number().int().min(0) };

/** An upload and its number of bytes. */
const uploadEntry = z.discriminatedUnion('type', [
  /**
   * At most five seconds of one side, 16-bit mono, little-endian; `start_ms` is the wall-clock time of its
   * first sample.
   */
  z.object({
    type: z.literal('recording'),
    ...ofSession,
    track: z.enum(['agent', 'user', 'human']),
    segment: count,
    start_ms: z.number().int().min(0),
    rate_hz: z.number().int().min(8_000).max(48_000),
  }),
  z.object({ type: z.literal('flight_log'), ...ofSession, chunk: count }),
]);
type UploadEntry = z.output<typeof uploadEntry>;

/** An upload without its length. */
export type UploadHead = UploadEntry extends infer Entry
  ? Entry extends UploadEntry
    ? Omit<Entry, 'bytes'>
    : never
  : never;

/** A piece to store; storing it again changes nothing. */
export interface Upload {
  readonly head: UploadHead;
  readonly bytes: Uint8Array;
}

/**
 * The answer: index positions of pieces that are no longer wanted, because their session is gone or their
 * epoch never existed.
 */
export const uploadAnswer = z.object({ refused: z.array(count) });

const MOST_ENTRIES = 1_000;
const LENGTH_BYTES = 4;

/** The body of a request with these pieces. */
export function packUploads(uploads: readonly Upload[]): Buffer {
  const index = Buffer.from(
    JSON.stringify(uploads.map(({ head, bytes }) => ({ ...head, bytes: bytes.byteLength }))),
  );
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(index.length);
  return Buffer.concat([length, index, ...uploads.map(({ bytes }) => bytes)]);
}

/** The pieces of a body, as views of it; null if it is malformed. */
export function unpackUploads(body: Buffer): Upload[] | null {
  if (body.length < LENGTH_BYTES) return null;
  const indexEnd = LENGTH_BYTES + body.readUInt32BE(0);
  if (indexEnd > body.length) return null;
  const entries = parseJson(
    z.array(uploadEntry).max(MOST_ENTRIES),
    body.toString('utf8', LENGTH_BYTES, indexEnd),
  );
  if (entries?.reduce((end, { bytes }) => end + bytes, indexEnd) !== body.length) return null;
  let at = indexEnd;
  return entries.map(({ bytes, ...head }) => {
    at += bytes;
    return { head, bytes: body.subarray(at - bytes, at) };
  });
}
