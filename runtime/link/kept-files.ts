/**
 * Files of pieces in a worker's spool. A record is its length, the beginning of its checksum, and the upload
 * as it is sent. An upload without bytes says that its pieces are stored, or not wanted. What was cut short
 * by a loss of power is left out.
 */
import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, open, readdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { streamOf } from '#protocol/join-pieces.ts';
import { type PieceHead, packUploads, type Upload, unpackUploads } from '#protocol/uploads.ts';

const PREFIX = 'pieces-';
const LENGTH_BYTES = 4;
const CHECKSUM_BYTES = 8;
const HEAD_BYTES = LENGTH_BYTES + CHECKSUM_BYTES;

/** A name that no other worker's file has: files move from one spool to another. */
export function newKeptFile(directory: string): string {
  return join(directory, `${PREFIX}${randomUUID()}`);
}

/** The files of a spool. */
export async function keptFiles(directory: string): Promise<string[]> {
  const names = await readdir(directory);
  return names.filter((name) => name.startsWith(PREFIX)).map((name) => join(directory, name));
}

/** Moves the files of one spool to another one; returns their new places. */
export async function moveKeptFiles(from: string, to: string): Promise<string[]> {
  const moved: string[] = [];
  for (const path of await keptFiles(from)) {
    const place = newKeptFile(to);
    await rename(path, place);
    moved.push(place);
  }
  return moved;
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

/** The pieces of these files that are still needed. */
export async function readKeptFiles(paths: readonly string[]): Promise<Upload[]> {
  const all = (await Promise.all(paths.map(async (path) => uploadsOf(await readFile(path))))).flat();
  const released = new Set<string>();
  for (const { head, bytes } of all)
    if (bytes.length === 0)
      for (const number of numbersOf(head)) released.add(`${keptStreamOf(head)}/${number}`);
  return all.filter(
    ({ head, bytes }) => bytes.length > 0 && !released.has(`${keptStreamOf(head)}/${head.piece}`),
  );
}

/** Of the pieces of a head. */
export function numbersOf({ piece, pieces }: PieceHead): number[] {
  return Array.from({ length: pieces }, (_, index) => piece + index);
}

/** The uploads of these records, up to the first record that is not whole. */
function uploadsOf(records: Buffer): Upload[] {
  const uploads: Upload[] = [];
  for (let at = 0; at + HEAD_BYTES <= records.length; ) {
    const body = records.subarray(at + HEAD_BYTES, at + HEAD_BYTES + records.readUInt32BE(at));
    const checksum = records.subarray(at + LENGTH_BYTES, at + HEAD_BYTES);
    if (!checksumOf(body).equals(checksum)) break;
    uploads.push(...(unpackUploads(body) ?? []));
    at += HEAD_BYTES + body.length;
  }
  return uploads;
}

function checksumOf(body: Uint8Array): Buffer {
  return createHash('sha256').update(body).digest().subarray(0, CHECKSUM_BYTES);
}
