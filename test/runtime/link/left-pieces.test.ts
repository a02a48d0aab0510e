import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '#base/log.ts';
import { type PieceHead, packUploads, type Upload } from '#protocol/uploads.ts';
import { leftDirectories, newKeptFile, recordOf, releaseOf } from '#runtime/link/kept-files.ts';
import { LeftPieces } from '#runtime/link/left-pieces.ts';
import type { UploadOutcome } from '#runtime/link/upload-sender.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

const SEND_AFTER_MS = 5_000;
const RETRY_MS = 10 * 60_000;
const logger = createLogger({ level: 'silent', name: 'test' });

/** Directories of workers. */
let root: string;
/** Of a dead worker, and of the one under test. */
let dead: string;
let own: string;
let clock: ManualClock;
let left: LeftPieces;
let sent: Upload[];
/** Outcomes of objects, by session; those of other sessions are stored. */
let outcomes: Map<string, UploadOutcome>;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'parley-left-'));
  [dead, own] = [join(root, 'dead'), join(root, 'own')];
  for (const directory of [dead, own]) mkdirSync(directory);
  clock = new ManualClock();
  [sent, outcomes] = [[], new Map()];
  const send = (upload: Upload, onDone?: (outcome: UploadOutcome) => void) => {
    sent.push(upload);
    onDone?.(outcomes.get(upload.head.session_id) ?? 'stored');
  };
  left = new LeftPieces({ directory: own, sender: { send }, clock, logger });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function head(session: string, piece: number, pieces = 1): PieceHead {
  const of = { session_id: session, epoch: 1, object: 0, piece, pieces, is_part: pieces === 1 };
  return { type: 'log', ...of };
}

const piece = (session: string, number: number) =>
  recordOf({ head: head(session, number), bytes: Buffer.alloc(10, 1) });

/** A whole record, of a type that this version does not know. */
function unknownRecord(): Buffer {
  const body = packUploads([{ head: { ...head('s', 0), type: 'video' } as never, bytes: Buffer.alloc(10) }]);
  const checksum = createHash('sha256').update(body).digest().subarray(0, 8);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length);
  return Buffer.concat([length, checksum, body]);
}

/** Writes a file of the dead worker. */
async function leave(...records: readonly Buffer[]): Promise<string> {
  const path = newKeptFile(dead);
  await appendFile(path, Buffer.concat(records));
  return path;
}

/** Adopts the files, and waits until so many objects are sent. */
async function sendAll(objects: number): Promise<void> {
  await left.adopt([dead]);
  await clock.advance(SEND_AFTER_MS);
  await vi.waitFor(() => expect(sent).toHaveLength(objects));
}

/** Moves the clock on until it is true: files are read between its steps. */
async function advanceUntil(stepMs: number, check: () => void): Promise<void> {
  await vi.waitFor(async () => {
    await clock.advance(stepMs);
    check();
  });
}

const files = () => readdirSync(own).length;
const heads = () => sent.map(({ head }) => [head.session_id, head.piece, head.pieces, head.is_part]).sort();

describe('pieces that a dead worker has left', () => {
  it('are sent as objects, without those that were stored, and deleted', async () => {
    await leave(
      piece('s', 0),
      piece('s', 1),
      piece('other', 0),
      piece('stored', 0),
      releaseOf(head('stored', 0)),
    );
    await left.adopt([dead]);
    expect([readdirSync(root), files(), sent]).toEqual([['own'], 1, []]);
    await clock.advance(SEND_AFTER_MS);
    await vi.waitFor(() => expect(files()).toBe(0));
    expect(heads()).toEqual([
      ['other', 0, 1, false],
      ['s', 0, 2, false],
    ]);
  });

  it('count on the disk until they are stored', async () => {
    const record = piece('s', 0);
    await leave(record);
    await left.adopt([dead]);
    expect(left.bytes).toBe(record.length);
    await clock.advance(SEND_AFTER_MS);
    await vi.waitFor(() => expect(left.bytes).toBe(0));
  });

  it('are deleted if they are not wanted any more', async () => {
    outcomes.set('s', 'refused');
    await leave(piece('s', 0));
    await sendAll(1);
    await vi.waitFor(() => expect(files()).toBe(0));
  });

  it('are tried again, without those of the same file that were stored', async () => {
    outcomes.set('s', 'given_up');
    await leave(piece('s', 0), piece('other', 0));
    await sendAll(2);
    expect(files()).toBe(1);
    outcomes.clear();
    await advanceUntil(RETRY_MS, () => expect(files()).toBe(0));
    expect(heads()).toEqual([
      ['other', 0, 1, false],
      ['s', 0, 1, false],
      ['s', 0, 1, false],
    ]);
  });

  it('are not sent twice if the last record of their file was cut short', async () => {
    outcomes.set('s', 'given_up');
    await leave(piece('s', 0), piece('other', 0), piece('cut', 0).subarray(0, -1));
    await sendAll(2);
    await vi.waitFor(() => expect(sent).toHaveLength(2));
    outcomes.clear();
    await advanceUntil(RETRY_MS, () => expect(files()).toBe(0));
    expect(heads().map(([session]) => session)).toEqual(['other', 's', 's']);
  });

  it('stay on the disk if a later version has written them', async () => {
    const record = unknownRecord();
    await leave(record);
    await leave(piece('s', 0));
    await sendAll(1);
    await vi.waitFor(() => expect(left.bytes).toBe(record.length));
    expect(files()).toBe(1);
  });

  it('do not wait for a file that cannot be sent or read', async () => {
    outcomes.set('s', 'given_up');
    await leave(piece('s', 0));
    await leave(piece('other', 0));
    mkdirSync(newKeptFile(dead));
    await sendAll(2);
    await vi.waitFor(() => expect(files()).toBe(2));
    outcomes.clear();
    await advanceUntil(RETRY_MS, () => expect(files()).toBe(1));
  });

  it('are forgotten if somebody else has taken their file', async () => {
    await leave(piece('s', 0));
    await left.adopt([dead]);
    for (const name of readdirSync(own)) rmSync(join(own, name));
    await clock.advance(SEND_AFTER_MS);
    await vi.waitFor(() => expect(left.bytes).toBe(0));
    expect(sent).toEqual([]);
  });

  it('stay where they are if they cannot be moved, without an error', async () => {
    await leave(piece('s', 0));
    rmSync(own, { recursive: true });
    await left.adopt([join(root, 'unknown'), dead]);
    expect(readdirSync(dead)).toHaveLength(1);
  });

  it('are found if their worker’s spool was taken, or is gone', async () => {
    const spools = join(root, 'spools');
    const pieces = join(root, 'pieces');
    for (const name of ['alive', 'taken']) mkdirSync(join(spools, name), { recursive: true });
    for (const name of ['alive', 'taken', 'gone']) mkdirSync(join(pieces, name), { recursive: true });
    const found = await leftDirectories(pieces, { spools, taken: new Set(['taken']) });
    expect(found.sort()).toEqual(['gone', 'taken'].map((name) => join(pieces, name)));
  });
});

describe('a file of objects that a worker has given up', () => {
  it('is sent again after ten minutes', async () => {
    const path = newKeptFile(own);
    await appendFile(path, piece('s', 0));
    left.retry(path, 10);
    await clock.advance(RETRY_MS - 1);
    expect(sent).toEqual([]);
    await advanceUntil(1, () => expect(files()).toBe(0));
    expect(heads()).toEqual([['s', 0, 1, false]]);
  });
});
