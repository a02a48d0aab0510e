import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { appendFile, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '#base/log.ts';
import type { PieceHead, Upload } from '#protocol/uploads.ts';
import { keptFiles, readKeptFiles } from '#runtime/link/kept-files.ts';
import { KeptPieces } from '#runtime/link/kept-pieces.ts';
import { LeftPieces } from '#runtime/link/left-pieces.ts';
import { adoptSpools, openSpool, spoolOf } from '#runtime/link/spool.ts';
import type { UploadOutcome } from '#runtime/link/upload-sender.ts';
import { ManualClock } from '../../fakes/manual-clock.ts';

const FULL_BYTES = 10_000;
const MOST_BYTES = 100_000;
const logger = createLogger({ level: 'silent', name: 'test' });

let directory: string;
let clock: ManualClock;
let kept: KeptPieces;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'parley-kept-'));
  clock = new ManualClock();
  kept = new KeptPieces({ directory, clock, logger, fullBytes: FULL_BYTES, mostBytes: MOST_BYTES });
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

/** What the next worker would find. */
async function left(): Promise<string[]> {
  const uploads = await readKeptFiles(await keptFiles(directory));
  return uploads.map(({ head: { session_id: session, piece: number } }) => `${session}${number}`).sort();
}

const files = () => readdirSync(directory).length;

describe('pieces that a control plane only holds', () => {
  it('are on the disk, for their owner only, until they are released', async () => {
    expect(await keep(piece(0), piece(1), piece(0, 10, 'other'))).toEqual([true, true, true]);
    expect(await left()).toEqual(['other0', 's0', 's1']);
    const [path = ''] = await keptFiles(directory);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    kept.release(head(0, { pieces: 2 }));
    await vi.waitFor(async () => expect(await left()).toEqual(['other0']));
    kept.release(head(0, { session: 'other' }));
    await vi.waitFor(() => expect(files()).toBe(0));
  });

  it('have the bytes and the head with which they are sent', async () => {
    await keep(piece(3, 100));
    expect(await readKeptFiles(await keptFiles(directory))).toEqual([piece(3, 100)]);
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
    expect(await left()).toEqual(['s3']);
  });

  it('are refused above so many bytes, and once the worker ends', async () => {
    await keep(piece(0, MOST_BYTES));
    expect(await kept.keep(piece(1))).toBe(false);
    kept.release(head(0));
    expect(await keep(piece(1))).toEqual([true]);
    await kept.close();
    expect(await kept.keep(piece(2))).toBe(false);
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
    expect(await left()).toEqual(['s0']);
  });
});

describe('pieces that a dead worker has left', () => {
  let sent: Upload[];
  let outcome: UploadOutcome;
  let own: string;
  let taken: LeftPieces;

  beforeEach(() => {
    [sent, outcome] = [[], 'stored'];
    own = mkdtempSync(join(tmpdir(), 'parley-own-'));
    const send = (upload: Upload, onDone?: (outcome: UploadOutcome) => void) => {
      sent.push(upload);
      onDone?.(outcome);
    };
    taken = new LeftPieces({ directory: own, sender: { send }, clock, logger });
  });
  afterEach(() => rmSync(own, { recursive: true, force: true }));

  const heads = () => sent.map(({ head }) => [head.session_id, head.piece, head.pieces, head.is_part]).sort();

  it('are sent as objects, without those that were stored, and deleted', async () => {
    await keep(piece(0), piece(1), piece(0, 10, 'other'), piece(0, 10, 'stored'));
    kept.release(head(0, { session: 'stored' }));
    await kept.close();
    await taken.adopt([directory]);
    expect([files(), readdirSync(own).length, sent]).toEqual([0, 1, []]);
    await clock.advance(5_000);
    await vi.waitFor(() => expect(readdirSync(own)).toEqual([]));
    expect(heads()).toEqual([
      ['other', 0, 1, false],
      ['s', 0, 2, false],
    ]);
  });

  it.each(['refused', 'given_up'] as const)(
    'are deleted if they are refused, and tried again: %s',
    async (became) => {
      await keep(piece(0));
      await kept.close();
      outcome = became;
      await taken.adopt([directory]);
      await clock.advance(5_000);
      await vi.waitFor(() => expect(sent).toHaveLength(1));
      if (became === 'given_up') {
        expect(readdirSync(own)).toHaveLength(1);
        outcome = 'stored';
        await vi.waitFor(async () => {
          await clock.advance(10 * 60_000);
          expect(sent).toHaveLength(2);
        });
      }
      await vi.waitFor(() => expect(readdirSync(own)).toEqual([]));
    },
  );

  it('stay where they are if they cannot be moved, without an error', async () => {
    await keep(piece(0));
    await kept.close();
    rmSync(own, { recursive: true });
    await taken.adopt([directory, join(directory, 'unknown')]);
    expect(await left()).toEqual(['s0']);
  });

  it('keep its spool until another worker has taken them, even if no report is waiting', async () => {
    const spool = await openSpool(own, 'w1');
    const inSpool = new KeptPieces({ directory: spoolOf(own, 'w1'), clock, logger });
    const keeping = inSpool.keep(piece(0));
    await vi.waitFor(async () => expect(await keptFiles(spoolOf(own, 'w1'))).toHaveLength(1));
    await inSpool.close();
    expect(await keeping).toBe(true);
    await spool.close();
    const adopted = await adoptSpools(own);
    expect([...adopted.keys()]).toEqual(['w1']);
    const next = mkdtempSync(join(tmpdir(), 'parley-next-'));
    await new LeftPieces({ directory: next, sender: { send: () => undefined }, clock, logger }).adopt([
      spoolOf(own, 'w1'),
    ]);
    await adopted.get('w1')?.close();
    expect([readdirSync(own), readdirSync(next).length]).toEqual([[], 1]);
    rmSync(next, { recursive: true, force: true });
  });
});
