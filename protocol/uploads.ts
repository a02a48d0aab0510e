/**
 * Uploads of workers for sessions: recordings and flight logs, those of many calls in one request. The body
 * is the length of an index (four bytes, big-endian), the index in JSON, and the bytes of its entries in
 * order.
 *
 * A call is recorded in pieces of a few seconds, and stored in objects of about a minute. A worker sends each
 * piece at once, so that its death costs no more than that, and each object when it is whole.
 */
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';

/** Where workers upload to. Those one version older send to `/internal/uploads`. */
export const UPLOAD_PATH = '/internal/pieces';

const count = z.number().int().min(0).max(1_000_000);
/** An object is closed before it has more. */
export const MOST_PIECES = 100;
/** Of one track in an object, which is closed after a minute. */
const MOST_SECONDS = 120;
/** Of an object: a minute of noise at 48 kHz is 5.8 MB. */
const MOST_OBJECT_BYTES = 8 * 1024 * 1024;
const ofSession = { session_id: z.string(), epoch: z.number().int().min(1) };
const size = { bytes: z.number().int().min(0) };
const rate = z.number().int().min(8_000).max(48_000);
const track = z.enum(['agent', 'user', 'human']);
const startMs = z.number().int().min(0);

/** One or more consecutive pieces, counted from 0 for each track and for the log of a worker's call. */
const ofPieces = {
  /** The first piece of the object to which they belong, or which they are. */
  object: count,
  piece: count,
  pieces: count.min(1).max(MOST_PIECES),
  /** An object with them follows, unless the answer says that they are stored. */
  is_part: z.boolean(),
  /** The worker has stored them in the bucket itself, at the address with this salt; no bytes are sent. */
  salt: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional(),
  /** All pieces of the track or log before this one are stored. */
  stored_before: count.optional(),
};

const pieceHead = z.discriminatedUnion('type', [
  /**
   * Frames of FLAC (media/speech/audio/flac-encoder.ts), 16-bit mono; `start_ms` is the wall-clock time of
   * the first sample.
   */
  z
    .object({
      type: z.literal('audio'),
      ...ofSession,
      ...ofPieces,
      track,
      start_ms: startMs,
      rate_hz: rate,
      samples: z.number().int().min(1),
    })
    .refine(({ samples, rate_hz: rateHz }) => samples <= MOST_SECONDS * rateHz),
  /** Part of a flight log, in members of gzip. */
  z.object({ type: z.literal('log'), ...ofSession, ...ofPieces }),
]);
/** A head describes one or more pieces. */
export type PieceHead = z.output<typeof pieceHead>;
export type AudioHead = Extract<PieceHead, { readonly type: 'audio' }>;

const plainHead = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('recording'),
    ...ofSession,
    track,
    segment: count,
    start_ms: startMs,
    rate_hz: rate,
  }),
  z.object({ type: z.literal('flight_log'), ...ofSession, chunk: count }),
]);
/**
 * An upload of a worker one version older: at most five seconds of one side, 16-bit mono, little-endian; or a
 * chunk of a flight log, as it is.
 */
export type PlainHead = z.output<typeof plainHead>;

/** Something to store; storing it again changes nothing. */
export interface Upload<Head = PieceHead> {
  readonly head: Head;
  readonly bytes: Uint8Array;
}

/**
 * The answer: index positions of uploads that are no longer wanted, because their session is gone or their
 * epoch never existed.
 */
export const uploadAnswer = z.object({
  refused: z.array(count),
  /** The other ones are stored, also those with `is_part`: no object needs to follow. */
  is_stored: z.boolean().default(true),
});

/** Where workers ask for addresses in the bucket, for whole objects. */
export const ADDRESSES_PATH = '/internal/object-addresses';

/** Objects that a worker has, and which one it is. */
export const addressQuestion = z.object({
  instance_id: z.string(),
  objects: z
    .array(z.object({ head: pieceHead, bytes: z.number().int().min(1).max(MOST_OBJECT_BYTES) }))
    .max(100),
});

/**
 * How to store an object: encrypt it with this key and this name as context, and PUT it to this address,
 * which takes only so many bytes. The name contains the salt: another answer has another key.
 */
const objectAddress = z.object({ url: z.url(), key: z.base64(), name: z.string(), salt: z.string() });
export type ObjectAddress = z.output<typeof objectAddress>;

/** In the order of the objects. Null: the control plane takes it, or refuses it. */
export const addressAnswer = z.object({ addresses: z.array(objectAddress.nullable()) });

/** Of a request. */
export const MOST_ENTRIES = 1_000;
const LENGTH_BYTES = 4;

/** The body of a request with these uploads. */
export function packUploads(uploads: readonly Upload<object>[]): Buffer {
  const index = Buffer.from(
    JSON.stringify(uploads.map(({ head, bytes }) => ({ ...head, bytes: bytes.byteLength }))),
  );
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(index.length);
  return Buffer.concat([length, index, ...uploads.map(({ bytes }) => bytes)]);
}

/** The uploads of a body, as views of it; null if it is malformed. */
export function unpackUploads(body: Buffer): Upload[] | null {
  return unpack(body, pieceHead);
}

/** As `unpackUploads`, for a worker one version older. */
export function unpackPlainUploads(body: Buffer): Upload<PlainHead>[] | null {
  return unpack(body, plainHead);
}

function unpack<Head>(body: Buffer, head: z.ZodType<Head>): Upload<Head>[] | null {
  if (body.length < LENGTH_BYTES) return null;
  const indexEnd = LENGTH_BYTES + body.readUInt32BE(0);
  if (indexEnd > body.length) return null;
  const index = body.toString('utf8', LENGTH_BYTES, indexEnd);
  const sizes = parseJson(z.array(z.object(size)).max(MOST_ENTRIES), index);
  const heads = parseJson(z.array(head), index);
  if (!heads || sizes?.reduce((end, { bytes }) => end + bytes, indexEnd) !== body.length) return null;
  let at = indexEnd;
  return sizes.map(({ bytes }, entry) => {
    at += bytes;
    return { head: heads[entry] as Head, bytes: body.subarray(at - bytes, at) };
  });
}
