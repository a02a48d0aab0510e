/**
 * Files of pieces, in a directory of their worker. A record is its length, the beginning of its checksum, and
 * the upload as it is sent. An upload without bytes says that its pieces are stored, or not wanted; it is in
 * the file of the pieces. What was cut short by a loss of power is left out.
 */
import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, open, readdir, readFile, rename, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextRound } from 'node:timers/promises';
import { streamOf } from '#protocol/join-pieces.ts';
import { type PieceHead, packUploads, type Upload, unpackUploads } from '#protocol/uploads.ts';

const PREFIX = 'pieces-';
const LENGTH_BYTES = 4;
const CHECKSUM_BYTES = 8;
const HEAD_BYTES = LENGTH_BYTES + CHECKSUM_BYTES;

/** A name that no other worker's file has: files move from one directory to another. */
export function newKeptFile(directory: string): string {
  return join(directory, `${PREFIX}${randomUUID()}`);
}

/** The files of a directory. */
export async function keptFiles(directory: string): Promise<string[]> {
  const names = await readdir(directory);
  return names.filter((name) => name.startsWith(PREFIX)).map((name) => join(directory, name));
}

/**
 * Directories under `root` of workers that have ended: this one has taken their spool, or it is gone. A
 * worker has its spool before this directory. A worker of an earlier version may have removed a dead one's.
 */
export async function leftDirectories(
  root: string,
  { spools, taken }: { readonly spools: string; readonly taken: ReadonlySet<string> },
): Promise<string[]> {
  const names = await readdir(root);
  const living = new Set(await readdir(spools));
  return names.filter((name) => taken.has(name) || !living.has(name)).map((name) => join(root, name));
}

/** Moves the files of one directory to another one, and removes it. Yields each in its new place. */
export async function* moveKeptFiles(
  from: string,
  to: string,
): AsyncGenerator<{ path: string; bytes: number }> {
  for (const path of await keptFiles(from)) {
    const { size: bytes } = await stat(path);
    const place = newKeptFile(to);
    await rename(path, place);
    yield { path: place, bytes };
  }
  await rmdir(from);
}

/** Makes the names in a directory durable. */
export async function syncNames(directory: string): Promise<void> {
  const handle: FileHandle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A track or log of a call under one epoch. */
export function keptStreamOf(head: PieceHead): string {
  return `${head.session_id}/${head.epoch}/${streamOf(head)}`;
}

/** The record of a piece. */
export function recordOf(upload: Upload): Buffer {
  const body = packUploads([upload]);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(body.length);
  checksumOf(body).copy(head, LENGTH_BYTES);
  return Buffer.concat([head, body]);
}

/** The record that these pieces are needed no more. */
export function releaseOf(head: PieceHead): Buffer {
  return recordOf({ head, bytes: new Uint8Array() });
}

/**
 * The pieces of a file that are still needed, and the size of its whole records: the last one may have been
 * cut short. Throws if a record is whole and cannot be read: a later version has written it.
 */
export async function readKeptFile(path: string): Promise<{ uploads: Upload[]; wholeBytes: number }> {
  const { all, wholeBytes } = await recordsOf(await readFile(path));
  const released = new Set<string>();
  for (const { head, bytes } of all)
    if (bytes.length === 0)
      for (const number of numbersOf(head)) released.add(`${keptStreamOf(head)}/${number}`);
  const uploads = all.filter(
    ({ head, bytes }) => bytes.length > 0 && !released.has(`${keptStreamOf(head)}/${head.piece}`),
  );
  return { uploads, wholeBytes };
}

/** Of the pieces of a head. */
export function numbersOf({ piece, pieces }: PieceHead): number[] {
  return Array.from({ length: pieces }, (_, index) => piece + index);
}

/** Reads up to the first record that is not whole; in turns, beside calls. */
async function recordsOf(records: Buffer): Promise<{ all: Upload[]; wholeBytes: number }> {
  const all: Upload[] = [];
  let at = 0;
  while (at + HEAD_BYTES <= records.length) {
    const body = records.subarray(at + HEAD_BYTES, at + HEAD_BYTES + records.readUInt32BE(at));
    const checksum = records.subarray(at + LENGTH_BYTES, at + HEAD_BYTES);
    if (!checksumOf(body).equals(checksum)) break;
    const uploads = unpackUploads(body);
    if (!uploads) throw new Error('a record of kept recordings has another format');
    all.push(...uploads);
    at += HEAD_BYTES + body.length;
    await nextRound();
  }
  return { all, wholeBytes: at };
}

function checksumOf(body: Uint8Array): Buffer {
  return createHash('sha256').update(body).digest().subarray(0, CHECKSUM_BYTES);
}
