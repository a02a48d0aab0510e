import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { appendFile, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '#base/log.ts';
import type { PieceHead, Upload } from '#protocol/uploads.ts';
import { keptFiles, readKeptFile } from '#runtime/link/kept-files.ts';
import { KeptPieces } from '#runtime/link/kept-pieces.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

const FULL_BYTES = 10_000;
const MOST_BYTES = 100_000;
const logger = createLogger({ level: 'silent', name: 'test' });

let directory: string;
let clock: ManualClock;
let kept: KeptPieces;
/** Bytes of left pieces, and the files that are to be sent again. */
let left: { bytes: number; files: string[] };

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'parley-kept-'));
  clock = new ManualClock();
  left = { bytes: 0, files: [] };
  kept = new KeptPieces({
    directory,
    left: {
      get bytes() {
        return left.bytes;
      },
      retry: (path) => void left.files.push(path),
    },
    clock,
    logger,
    fullBytes: FULL_BYTES,
    mostBytes: MOST_BYTES,
  });
});
afterEach(async () => {
  await kept.close();
  rmSync(directory, { recursive: true, force: true });
});

function head(piece: number, { pieces = 1, session = 's' } = {}): PieceHead {
  const of = { session_id: session, epoch: 1, object: 0, piece, pieces, is_part: pieces === 1 };
  return { type: 'log', ...of };
}

const piece = (number: number, bytes = 10, session = 's'): Upload => ({
  head: head(number, { session }),
  bytes: Buffer.alloc(bytes, number + 1),
});

/** Keeps pieces until they are on the disk. */
async function keep(...uploads: readonly Upload[]): Promise<boolean[]> {
  const keeping = Promise.all(uploads.map((upload) => kept.keep(upload)));
  let isOver = false;
  void keeping.then(() => {
    isOver = true;
  });
  await vi.waitFor(async () => {
    await clock.advance(1_000);
    expect(isOver).toBe(true);
  });
  return keeping;
}

/** The pieces that the next worker would find. */
async function found(): Promise<string[]> {
  const files = await Promise.all((await keptFiles(directory)).map(readKeptFile));
  return files
    .flatMap(({ uploads }) => uploads)
    .map(({ head: { session_id: session, piece: number } }) => `${session}${number}`)
    .sort();
}

const files = () => readdirSync(directory).length;

describe('pieces that a control plane only holds', () => {
  it('are on the disk, for their owner only, until they are released', async () => {
    expect(await keep(piece(0), piece(1), piece(0, 10, 'other'))).toEqual([true, true, true]);
    expect(await found()).toEqual(['other0', 's0', 's1']);
    const [path = ''] = await keptFiles(directory);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    kept.release(head(0, { pieces: 2 }));
    await vi.waitFor(async () => expect(await found()).toEqual(['other0']));
    kept.release(head(0, { session: 'other' }));
    await vi.waitFor(() => expect(files()).toBe(0));
  });

  it('have the bytes and the head with which they are sent', async () => {
    await keep(piece(3, 100));
    const [path = ''] = await keptFiles(directory);
    expect((await readKeptFile(path)).uploads).toEqual([piece(3, 100)]);
  });

  it('leave nothing if they are released before they are written', async () => {
    const keeping = kept.keep(piece(0));
    kept.release(head(0));
    expect(await keeping).toBe(true);
    await vi.waitFor(() => expect(files()).toBe(0));
  });

  it('are in a new file after a minute or so many bytes, so that the old one can be deleted', async () => {
    await keep(piece(0));
    await clock.advance(60_000);
    await keep(piece(1), piece(2, FULL_BYTES));
    await keep(piece(3));
    expect(files()).toBe(2);
    kept.release(head(0, { pieces: 3 }));
    await vi.waitFor(() => expect(files()).toBe(1));
    expect(await found()).toEqual(['s3']);
  });

  it('are refused above so many bytes, and once the worker ends', async () => {
    await keep(piece(0, MOST_BYTES));
    expect(await kept.keep(piece(1))).toBe(false);
    kept.release(head(0));
    expect(await keep(piece(1))).toEqual([true]);
    await kept.close();
    expect(await kept.keep(piece(2))).toBe(false);
  });

  it('are refused if what is left on the disk takes the room, which is logged once', async () => {
    const warn = vi.spyOn(logger, 'warn');
    left.bytes = MOST_BYTES + 1;
    expect([await kept.keep(piece(0)), await kept.keep(piece(1))]).toEqual([false, false]);
    expect(warn).toHaveBeenCalledTimes(1);
    left.bytes = 0;
    expect(await keep(piece(0))).toEqual([true]);
    warn.mockRestore();
  });

  it('are sent again once all others in their file are stored, if their object was given up', async () => {
    await keep(piece(0), piece(1), piece(0, 10, 'other'));
    const [path = ''] = await keptFiles(directory);
    kept.giveUp(head(0, { pieces: 2 }));
    expect(left.files).toEqual([]);
    kept.release(head(0, { session: 'other' }));
    await vi.waitFor(() => expect(left.files).toEqual([path]));
    expect(await found()).toEqual(['other0', 's0', 's1']);
  });

  it('are sent again even if their object was given up before they were written', async () => {
    const keeping = kept.keep(piece(0));
    kept.giveUp(head(0));
    expect(await keeping).toBe(true);
    await vi.waitFor(() => expect(left.files).toHaveLength(1));
    expect(await found()).toEqual(['s0']);
  });

  it('are refused by a disk that cannot be written', async () => {
    rmSync(directory, { recursive: true });
    expect(await kept.keep(piece(0))).toBe(false);
  });

  it('are read up to what a loss of power has cut short', async () => {
    await keep(piece(0), piece(1));
    const [path = ''] = await keptFiles(directory);
    await truncate(path, statSync(path).size - 1);
    await appendFile(path, Buffer.alloc(100));
    expect(await found()).toEqual(['s0']);
  });
});
