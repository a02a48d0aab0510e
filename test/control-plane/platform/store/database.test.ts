import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import timers from 'node:timers';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { type Database, openDatabase } from '#control-plane/platform/store/database.ts';
import { documentSchema } from '#control-plane/platform/store/schema.ts';

interface Note {
  _id: string;
  type: string;
  tags: { type: string; value: number }[];
  extra: Record<string, unknown>;
}

const opened: Database[] = [];
const directories: string[] = [];

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'parley-store-'));
  directories.push(path);
  return path;
}

async function open(dataDir: string): Promise<Database> {
  const logger = createLogger({ level: 'silent', name: 'test' });
  const onFatal = (error: Error) => {
    throw error;
  };
  const database = await openDatabase({
    mongodbUrl: undefined,
    dataDir,
    clock: systemClock,
    logger,
    onFatal,
  });
  opened.push(database);
  return database;
}

function notes(database: Database) {
  return database.connection.model<Note>(
    'Note',
    documentSchema<Note>({
      _id: String,
      type: String,
      tags: [{ _id: false, type: String, value: Number }],
      extra: {},
    }),
  );
}

afterEach(async () => {
  for (const database of opened.splice(0)) await database.close();
  for (const path of directories.splice(0)) rmSync(path, { recursive: true, force: true });
});

describe('openDatabase', () => {
  it('keeps its data when it is closed and opened again', async () => {
    const dataDir = directory();
    const first = await open(dataDir);
    expect(first.kind).toBe('embedded');
    await notes(first).create({ _id: 'a', type: 'memo', tags: [{ type: 'colour', value: 3 }], extra: {} });
    await first.close();
    const second = await open(dataDir);
    expect(await notes(second).findById('a').lean()).toEqual({
      _id: 'a',
      type: 'memo',
      tags: [{ type: 'colour', value: 3 }],
      extra: {},
    });
  });

  it('answers a ping only while it is open', async () => {
    const database = await open(directory());
    expect(await database.ping()).toBe(true);
    await database.close();
    expect(await database.ping()).toBe(false);
  });

  it('works under a data directory whose path is too long for a socket', async () => {
    const dataDir = join(directory(), 'd'.repeat(60), 'e'.repeat(60));
    mkdirSync(dataDir, { recursive: true });
    const database = await open(dataDir);
    await database.connection
      .collection<Note>('notes')
      .insertOne({ _id: 'a', type: 'memo', tags: [], extra: {} });
    expect(await database.connection.collection('notes').countDocuments({})).toBe(1);
  });

  it('fails while another program serves the same data directory', async () => {
    const dataDir = directory();
    const first = await open(dataDir);
    await expect(open(dataDir)).rejects.toThrow('in use by another running Parley');
    expect(await first.ping()).toBe(true);
  });

  it('can be closed twice', async () => {
    const database = await open(directory());
    await database.close();
    await database.close();
    expect(await database.ping()).toBe(false);
  });
});

it('the pool of an embedded database that is not used does not wake the process', async () => {
  const database = await open(directory());
  expect(await database.ping()).toBe(true);
  const started = vi.spyOn(timers, 'setTimeout');
  await systemClock.sleep(350);
  expect(started.mock.calls.map(([, ms]) => ms)).not.toContain(100);
  started.mockRestore();
  expect(await database.ping()).toBe(true);
});
