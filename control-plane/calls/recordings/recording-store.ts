/**
 * Storage of recordings and flight logs: encrypted objects whose names carry all metadata, so that a reader
 * need not open them for it. Writing one again changes nothing. What is only held in this process is read
 * like what is stored.
 */
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { createSealer, SEALED_HEAD_BYTES, SealBroken, type Sealer } from '#base/sealer.ts';
import { decodeFlac } from '#media/speech/audio/flac-decoder.ts';
import { FLAC_HEAD_BYTES, flacFile } from '#media/speech/audio/flac-format.ts';
import { wavHeader } from '#media/speech/audio/wav.ts';
import { joinPieces } from '#protocol/join-pieces.ts';
import type { ObjectAddress, PieceHead, Upload } from '#protocol/uploads.ts';
import { type Context, newId } from '../../platform/context.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { sealerOf } from '../sessions/session-store.ts';
import {
  type Chunk,
  chunkName,
  contains,
  parseChunk,
  parseSegment,
  type Segment,
  segmentName,
  storedAs,
  TRACK_ROLES,
  withoutRepeated,
} from './stored-pieces.ts';

/** Frames of half a second each that are decoded in one go. */
const FRAMES_AT_ONCE = 4;
/** Of a flight log, and of one object of it. */
const MOST_LOG_BYTES = 256 * 1024 * 1024;
const MOST_CHUNK_BYTES = 32 * 1024 * 1024;
const unzip = promisify(gunzip);

/** A segment to read: stored, or held here with these bytes. */
export type ReadableSegment = Segment & { readonly held?: Uint8Array };
type ReadableChunk = Chunk & { readonly held?: Uint8Array };

type Owner = Pick<SessionDocument, '_id' | 'wrapped_key'>;
type Parts = Pick<Context, 'blobs' | 'dataKeys'>;

/** Stores an upload. Does nothing once the session's key has been destroyed. */
export async function putStored(
  context: Parts,
  session: Owner,
  stored: Segment | Chunk,
  bytes: Uint8Array,
): Promise<void> {
  const { key, name } = placeOf(session._id, stored);
  const file = 'role' in stored && stored.packing === 'flac' ? flacFile([bytes], stored) : bytes;
  const sealed = sealerFor(context, session, stored)?.seal(file, name);
  if (sealed) await context.blobs.put(key, sealed);
}

/**
 * How a worker may store an object of so many bytes in the bucket itself; null if there is no bucket, or no
 * key any more. What it gets opens this object only, and nothing that is stored yet.
 */
export async function addressOf(
  context: Parts,
  session: Owner,
  { head, bytes }: { readonly head: PieceHead; readonly bytes: number },
): Promise<ObjectAddress | null> {
  const salt = newId();
  const { key, name } = placeOf(session._id, storedAs({ ...head, salt }));
  const sealer = sealerOf(context, session);
  const size = bytes + SEALED_HEAD_BYTES + (head.type === 'audio' ? FLAC_HEAD_BYTES : 0);
  const url = sealer && (await context.blobs.putAddress(key, size));
  return sealer && url ? { url, key: sealer.derive(name).toString('base64'), name, salt } : null;
}

/** Deletes everything of a session whose key is destroyed. */
export async function eraseStored({ blobs }: Pick<Context, 'blobs'>, session: Owner): Promise<void> {
  for (const prefixOf of [recordingPrefix, flightLogPrefix]) await blobs.deletePrefix(prefixOf(session._id));
}

/** Deletes an object. */
export async function deleteStored(
  { blobs }: Pick<Context, 'blobs'>,
  session: Owner,
  stored: Segment | Chunk,
): Promise<void> {
  await blobs.delete(placeOf(session._id, stored).key);
}

/** Key and name of an object. */
function placeOf(
  sessionId: string,
  stored: Segment | Chunk,
): { readonly key: string; readonly name: string } {
  const isAudio = 'role' in stored;
  const name = isAudio ? segmentName(stored) : chunkName(stored);
  return { key: `${(isAudio ? recordingPrefix : flightLogPrefix)(sessionId)}${name}`, name };
}

/** Of earlier versions, all objects of a session have the same key. */
function sealerFor(context: Parts, session: Owner, stored: Segment | Chunk): Sealer | null {
  const sealer = sealerOf(context, session);
  if (!sealer || stored.packing === 'pcm' || stored.packing === 'none') return sealer;
  return createSealer(sealer.derive(placeOf(session._id, stored).name));
}

/** Reads a segment's samples, 16-bit little-endian; null if it no longer exists. */
export async function getSegment(
  context: Parts,
  session: Owner,
  segment: ReadableSegment,
): Promise<Buffer | null> {
  if (segment.held) return decoded(flacFile([segment.held], segment), segment.samples);
  const file = await open(context, session, segment);
  return file && segment.packing === 'flac' ? decoded(file, segment.samples) : file;
}

/** Reads a segment as a file of FLAC or WAV; null if it no longer exists. */
export async function getSegmentFile(
  context: Parts,
  session: Owner,
  segment: ReadableSegment,
): Promise<Buffer | null> {
  if (segment.held) return flacFile([segment.held], segment);
  const file = await open(context, session, segment);
  return file && segment.packing === 'pcm'
    ? Buffer.concat([wavHeader(segment.rateHz, file.length), file])
    : file;
}

/** Decodes so many samples, in short turns: the event loop has other things to do. */
async function decoded(file: Buffer, samples: number): Promise<Buffer> {
  const pcm = new Int16Array(samples);
  let at = 0;
  let frames = 0;
  for (const frame of decodeFlac(file)) {
    pcm.set(frame.subarray(0, samples - at), at);
    at += frame.length;
    if (at >= samples) break;
    if (++frames % FRAMES_AT_ONCE === 0) await setImmediate();
  }
  return Buffer.from(pcm.buffer);
}

/** A session's segments, sorted by start time, then by epoch and index. */
export async function listSegments(
  context: Pick<Context, 'blobs' | 'held'>,
  sessionId: string,
): Promise<ReadableSegment[]> {
  const names = await namesUnder(context, recordingPrefix(sessionId));
  const stored = names.flatMap((name) => parseSegment(name) ?? []);
  const held = context.held.of(sessionId).flatMap(({ head, bytes }) => {
    const segment = storedAs(head);
    return 'role' in segment ? [{ ...segment, held: bytes }] : [];
  });
  const all: readonly ReadableSegment[] = [...stored, ...held];
  return TRACK_ROLES.flatMap((role) => withoutRepeated(all.filter((segment) => segment.role === role))).sort(
    (a, b) => a.startMs - b.startMs || a.epoch - b.epoch || a.index - b.index,
  );
}

/** Reads a session's flight log, with all epochs in order; empty once the session's key is destroyed. */
export async function readFlightLog(context: Parts & Pick<Context, 'held'>, session: Owner): Promise<Buffer> {
  const objects = await readLogObjects(context, session, MOST_LOG_BYTES);
  const damaged = objects.find(({ damage }) => damage !== null);
  if (damaged) throw damaged.damage;
  return Buffer.concat(linesOf(objects));
}

/** Like `readFlightLog`; null if the log is longer than `mostBytes`, damaged or incomplete. */
export async function readWholeFlightLog(
  context: Parts & Pick<Context, 'held'>,
  session: Owner,
  mostBytes: number,
): Promise<Buffer | null> {
  const objects = await readLogObjects(context, session, mostBytes);
  const lines = linesOf(objects);
  return lines.length === objects.length ? Buffer.concat(lines) : null;
}

/** An object of a flight log. */
export interface LogObject {
  readonly object: Chunk;
  /** Null if it is missing, damaged, or too long. */
  readonly lines: Uint8Array | null;
  /** Why it cannot be opened, if it is there. */
  readonly damage: unknown;
}

/** Reads a session's flight log object by object, with all epochs in order; of `mostBytes` in all. */
export async function readLogObjects(
  context: Parts & Pick<Context, 'held'>,
  session: Owner,
  mostBytes: number,
): Promise<LogObject[]> {
  if (!session.wrapped_key) return [];
  const all = await listChunks(context, session._id);
  const files = await Promise.all(
    all.map((chunk) => orDamage(async () => chunk.held ?? open(context, session, chunk))),
  );
  const objects: LogObject[] = [];
  let left = mostBytes;
  for (const [index, object] of all.entries()) {
    const { value: file = null, damage = null } = files[index] ?? {};
    const read = await orDamage(async () =>
      file && object.packing === 'gzip' ? unzipped(file, left) : file,
    );
    const lines = read.value && read.value.byteLength <= left ? read.value : null;
    left -= lines?.byteLength ?? 0;
    objects.push({ object, lines, damage: damage ?? read.damage });
  }
  return objects;
}

function linesOf(objects: readonly LogObject[]): Uint8Array[] {
  return objects.flatMap(({ lines }) => lines ?? []);
}

/** What is read, or why it cannot be decrypted or decompressed. */
async function orDamage<T>(read: () => Promise<T>): Promise<{ readonly value: T | null; damage: unknown }> {
  try {
    return { value: await read(), damage: null };
  } catch (error) {
    const isDamage =
      error instanceof SealBroken || String((error as { code?: unknown }).code).startsWith('Z_');
    if (!isDamage) throw error;
    return { value: null, damage: error };
  }
}

/** Null if they are more than a log may have: no worker writes as much. */
async function unzipped(bytes: Uint8Array, left: number): Promise<Buffer | null> {
  const maxOutputLength = Math.max(1, Math.min(left, MOST_CHUNK_BYTES));
  return unzip(bytes, { maxOutputLength }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ERR_BUFFER_TOO_LARGE') return null;
    throw error;
  });
}

async function listChunks(
  context: Pick<Context, 'blobs' | 'held'>,
  sessionId: string,
): Promise<ReadableChunk[]> {
  const names = await namesUnder(context, flightLogPrefix(sessionId));
  const stored = names.flatMap((name) => parseChunk(name) ?? []);
  const held = context.held.of(sessionId).flatMap(({ head, bytes }) => {
    const chunk = storedAs(head);
    return 'role' in chunk ? [] : [{ ...chunk, held: bytes }];
  });
  const all: readonly ReadableChunk[] = [...stored, ...held];
  return withoutRepeated(all).sort((a, b) => a.epoch - b.epoch || a.index - b.index);
}

/**
 * Stores the held pieces of one call under one epoch, without those that have been stored after all; those
 * from the beginning of an object together. Returns what it has stored.
 */
export async function storeHeld(
  context: Parts,
  session: Owner,
  uploads: readonly Upload[],
): Promise<(Segment | Chunk)[]> {
  const names = await Promise.all(
    [recordingPrefix, flightLogPrefix].map((prefixOf) => namesUnder(context, prefixOf(session._id))),
  );
  const stored = names.flat().flatMap((name) => parseSegment(name) ?? parseChunk(name) ?? []);
  const missing = uploads.filter(({ head }) => !stored.some((one) => has(one, storedAs(head))));
  const objects = joinPieces(missing);
  for (const { head, bytes } of objects) await putStored(context, session, storedAs(head), bytes);
  return objects.map(({ head }) => storedAs(head));
}

function has(stored: Segment | Chunk, piece: Segment | Chunk): boolean {
  const roleOf = (one: Segment | Chunk) => ('role' in one ? one.role : null);
  return roleOf(stored) === roleOf(piece) && contains(stored, piece);
}

async function open(context: Parts, session: Owner, stored: Segment | Chunk): Promise<Buffer | null> {
  const { key, name } = placeOf(session._id, stored);
  const sealer = sealerFor(context, session, stored);
  const sealed = sealer && (await context.blobs.get(key));
  return sealer && sealed ? sealer.open(sealed, name) : null;
}

/** The names of the objects with a prefix, without it. */
async function namesUnder({ blobs }: Pick<Context, 'blobs'>, prefix: string): Promise<string[]> {
  return (await blobs.list(prefix)).map((key) => key.slice(prefix.length));
}

/** Key prefix of a session's recording. */
export function recordingPrefix(sessionId: string): string {
  return `sessions/${sessionId}/recording/`;
}

/** Key prefix of a session's flight log. */
export function flightLogPrefix(sessionId: string): string {
  return `sessions/${sessionId}/flight-log/`;
}
