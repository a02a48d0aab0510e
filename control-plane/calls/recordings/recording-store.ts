/**
 * Storage of recordings and flight logs: encrypted objects whose names carry all metadata, so that a reader
 * need not open them for it. Writing one again changes nothing. What is only held in this process is read
 * like what is stored.
 */
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { createSealer, type Sealer } from '#base/sealer.ts';
import { decodeFlac } from '#media/speech/audio/flac-decoder.ts';
import { flacFile } from '#media/speech/audio/flac-format.ts';
import type { ObjectAddress, Upload } from '#protocol/uploads.ts';
import type { Context } from '../../platform/context.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { sealerOf } from '../sessions/session-store.ts';
import {
  type Chunk,
  chunkName,
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
const unzip = promisify(gunzip);

/** A segment to read: stored, or held here with these bytes. */
export type ReadableSegment = Segment & { readonly held?: Uint8Array };
type ReadableChunk = Chunk & { readonly held?: Uint8Array };

type Owner = Pick<SessionDocument, '_id' | 'wrapped_key'>;
type Parts = Pick<Context, 'blobs' | 'dataKeys'>;

/** Stores what was uploaded. Does nothing once the session's key has been destroyed. */
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
 * How a worker may store an object in the bucket itself; null if there is no bucket, or no key any more. What
 * it gets opens this object only.
 */
export async function addressOf(
  context: Parts,
  session: Owner,
  stored: Segment | Chunk,
): Promise<ObjectAddress | null> {
  const { key, name } = placeOf(session._id, stored);
  const sealer = sealerOf(context, session);
  const url = sealer && (await context.blobs.putAddress(key));
  return sealer && url ? { url, key: sealer.derive(name).toString('base64'), name } : null;
}

/** Deletes what a worker has stored. */
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

/** Decodes in short turns: the event loop has other things to do. */
async function decoded(file: Buffer, samples: number): Promise<Buffer> {
  const pcm = Buffer.alloc(samples * 2);
  let at = 0;
  let frames = 0;
  for (const frame of decodeFlac(file)) {
    for (let index = 0; index < frame.length && at < samples; index++)
      pcm.writeInt16LE(frame[index] ?? 0, 2 * at++);
    if (++frames % FRAMES_AT_ONCE === 0) await setImmediate();
  }
  return pcm;
}

/** A session's segments, sorted by start time, then by epoch and index. */
export async function listSegments(
  context: Pick<Context, 'blobs' | 'held'>,
  sessionId: string,
): Promise<ReadableSegment[]> {
  const prefix = recordingPrefix(sessionId);
  const stored = (await context.blobs.list(prefix)).flatMap(
    (key) => parseSegment(key.slice(prefix.length)) ?? [],
  );
  const held = context.held.of(sessionId).flatMap(({ head, bytes }) => {
    const segment = storedAs(head);
    return 'role' in segment ? [{ ...segment, held: bytes }] : [];
  });
  const all: readonly ReadableSegment[] = [...stored, ...held];
  return TRACK_ROLES.flatMap((role) => withoutRepeated(all.filter((segment) => segment.role === role))).sort(
    (a, b) => a.startMs - b.startMs || a.epoch - b.epoch || a.index - b.index,
  );
}

/** Reads a session's flight log, with all epochs in order. */
export async function readFlightLog(context: Parts & Pick<Context, 'held'>, session: Owner): Promise<Buffer> {
  const all = await listChunks(context, session._id);
  const chunks = await Promise.all(all.map((chunk) => getChunk(context, session, chunk)));
  return Buffer.concat(chunks.filter((chunk) => chunk !== null));
}

async function listChunks(
  context: Pick<Context, 'blobs' | 'held'>,
  sessionId: string,
): Promise<ReadableChunk[]> {
  const prefix = flightLogPrefix(sessionId);
  const stored = (await context.blobs.list(prefix)).flatMap(
    (key) => parseChunk(key.slice(prefix.length)) ?? [],
  );
  const held = context.held.of(sessionId).flatMap(({ head, bytes }) => {
    const chunk = storedAs(head);
    return 'role' in chunk ? [] : [{ ...chunk, held: bytes }];
  });
  const all: readonly ReadableChunk[] = [...stored, ...held];
  return withoutRepeated(all).sort((a, b) => a.epoch - b.epoch || a.index - b.index);
}

async function getChunk(context: Parts, session: Owner, chunk: ReadableChunk): Promise<Buffer | null> {
  const bytes = chunk.held ?? (await open(context, session, chunk));
  return bytes && chunk.packing === 'gzip' ? unzip(bytes) : (bytes as Buffer | null);
}

/**
 * Stores the held pieces of one call under one epoch, without those that have been stored after all; several
 * consecutive ones of an object together.
 */
export async function storeHeld(context: Parts, session: Owner, uploads: readonly Upload[]): Promise<void> {
  const keys = await Promise.all(
    [recordingPrefix, flightLogPrefix].map(async (prefixOf) => {
      const prefix = prefixOf(session._id);
      return (await context.blobs.list(prefix)).map((key) => key.slice(prefix.length));
    }),
  );
  const stored = keys.flat().flatMap((name) => parseSegment(name) ?? parseChunk(name) ?? []);
  const missing = uploads.filter(({ head }) => !stored.some((one) => has(one, head)));
  for (const { head, bytes } of joined(missing)) await putStored(context, session, storedAs(head), bytes);
}

function has(stored: Segment | Chunk, head: Upload['head']): boolean {
  const isSame = 'role' in stored ? head.type === 'audio' && head.track === stored.role : head.type === 'log';
  return (
    isSame &&
    stored.epoch === head.epoch &&
    stored.index <= head.piece &&
    head.piece + head.pieces <= stored.index + stored.pieces
  );
}

/** Joins consecutive pieces of the same object. */
function joined(uploads: readonly Upload[]): Upload[] {
  const runs: Upload[] = [];
  for (const { head, bytes } of uploads.toSorted((a, b) => a.head.piece - b.head.piece)) {
    const at = runs.findIndex(
      (run) =>
        run.head.type === head.type &&
        run.head.object === head.object &&
        run.head.piece + run.head.pieces === head.piece &&
        (run.head.type === 'log' || (head.type === 'audio' && run.head.track === head.track)),
    );
    const run = runs[at];
    if (!run) runs.push({ head, bytes });
    else {
      const pieces = run.head.pieces + head.pieces;
      const samples =
        run.head.type === 'audio' && head.type === 'audio'
          ? { samples: run.head.samples + head.samples }
          : {};
      runs[at] = { head: { ...run.head, pieces, ...samples }, bytes: Buffer.concat([run.bytes, bytes]) };
    }
  }
  return runs;
}

async function open(context: Parts, session: Owner, stored: Segment | Chunk): Promise<Buffer | null> {
  const { key, name } = placeOf(session._id, stored);
  const sealer = sealerFor(context, session, stored);
  const sealed = sealer && (await context.blobs.get(key));
  return sealer && sealed ? sealer.open(sealed, name) : null;
}

/** Key prefix of a session's recording. */
export function recordingPrefix(sessionId: string): string {
  return `sessions/${sessionId}/recording/`;
}

/** Key prefix of a session's flight log. */
export function flightLogPrefix(sessionId: string): string {
  return `sessions/${sessionId}/flight-log/`;
}
