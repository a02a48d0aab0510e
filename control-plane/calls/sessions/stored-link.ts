/**
 * A link as a session has it: in one value of bytes, because the document of the session is read and written
 * as a whole with each report, and each string in it costs time.
 *
 * ```
 * signature (64 bytes) · length of the JSON (4 bytes, big-endian) · JSON · digests (32 bytes each)
 * JSON: [epoch, time in ms, number of the key, addition without its digest, ...]
 * ```
 */
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';

/** A link without what follows from its place in the chain. */
export interface StoredLink {
  readonly epoch: number;
  readonly at: Date;
  /** Number of the key that has signed it. */
  readonly key: number;
  /** As `additionText` in `protocol/call-chain.ts`. */
  readonly adds: readonly string[];
  /** Of Ed25519. */
  readonly signature: Uint8Array;
}

const SIGNATURE_BYTES = 64;
const LENGTH_BYTES = 4;
const DIGEST_BYTES = 32;
/** A digest in base64url, and the space before it. */
const DIGEST_CHARACTERS = 44;
const count = z.number().int().min(0);
const packed = z.tuple([count, count.max(8.64e15), count], z.string());

/** Stands for a link that was changed in the database: its signature is not valid. */
const DAMAGED: StoredLink = { epoch: 0, at: new Date(0), key: 1, adds: [], signature: new Uint8Array() };

/** The bytes of a link. */
export function packLink({ epoch, at, key, adds, signature }: StoredLink): Buffer {
  const heads = adds.map((text) => text.slice(0, -DIGEST_CHARACTERS));
  const json = Buffer.from(JSON.stringify([epoch, at.getTime(), key, ...heads]));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(json.length);
  const digests = adds.map((text) => Buffer.from(text.slice(1 - DIGEST_CHARACTERS), 'base64url'));
  return Buffer.concat([signature, length, json, ...digests]);
}

/** The link of these bytes; of bytes that are none, one whose signature is not valid. */
export function unpackLink(bytes: Buffer): StoredLink {
  const jsonAt = SIGNATURE_BYTES + LENGTH_BYTES;
  if (bytes.length < jsonAt) return DAMAGED;
  const digestsAt = jsonAt + bytes.readUInt32BE(SIGNATURE_BYTES);
  const read = parseJson(packed, bytes.toString('utf8', jsonAt, digestsAt));
  if (!read) return DAMAGED;
  const [epoch, atMs, key, ...heads] = read;
  const adds = heads.map((head, index) => {
    const from = digestsAt + index * DIGEST_BYTES;
    return `${head} ${bytes.toString('base64url', from, from + DIGEST_BYTES)}`;
  });
  return { epoch, at: new Date(atMs), key, adds, signature: bytes.subarray(0, SIGNATURE_BYTES) };
}
