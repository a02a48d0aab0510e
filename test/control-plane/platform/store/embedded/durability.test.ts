import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { openDatabase } from '#control-plane/platform/store/database.ts';
import { startEmbeddedDatabase } from '#control-plane/platform/store/embedded/embedded-database.ts';

const ROUNDS = 6;
let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-kill-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

/**
 * Runs the writer and kills it in the middle of its writes, after a number of acknowledged ones. Returns the
 * complete lines it printed.
 */
async function writeAndKill(round: number): Promise<string[]> {
  const program = fileURLToPath(new URL('./kill-child.ts', import.meta.url));
  const child = spawn(process.execPath, [program, dataDir, String(round)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
    if (output.split('\n').length > 10 + round * 10) child.kill('SIGKILL');
  });
  const [, signal] = await once(child, 'close');
  expect(signal).toBe('SIGKILL');
  return output.split('\n').slice(0, -1);
}

it('kill -9 loses no acknowledged write, and the file stays intact', async () => {
  const acknowledged: string[] = [];
  for (let round = 0; round < ROUNDS; round++) acknowledged.push(...(await writeAndKill(round)));
  expect(acknowledged.length).toBeGreaterThan(ROUNDS * 10);

  const logger = createLogger({ level: 'silent', name: 'test' });
  const database = await openDatabase({
    mongodbUrl: undefined,
    dataDir,
    clock: systemClock,
    logger,
    onFatal: () => expect.unreachable(),
  });
  const documents = await database.connection
    .collection<{ _id: string; n: number; log: number[] }>('documents')
    .find({})
    .toArray();
  const entries = await database.connection
    .collection<{ _id: string; seq: number; balance: number }>('entries')
    .find({})
    .sort({ seq: 1 })
    .toArray();
  await database.close();

  const numbers = new Map(documents.map((each) => [each._id, each.n]));
  const balances = new Map(entries.map((each) => [each.seq, each.balance]));
  const missing = acknowledged.filter((line) => {
    const [kind, id = '', value] = line.split(' ');
    return kind === 'document'
      ? !((numbers.get(id) ?? -1) >= Number(value))
      : balances.get(Number(id)) !== Number(value);
  });
  expect(missing).toEqual([]);
  expect(documents.filter((each) => each.n !== each.log.length * 5)).toEqual([]);
  expect(entries.map((each) => each.seq)).toEqual(entries.map((_, index) => index + 1));
  expect(entries.every((each) => each.balance === each.seq * 3)).toBe(true);
  const file = new DatabaseSync(join(dataDir, 'database', 'database.sqlite'));
  expect(file.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  file.close();
}, 120_000);

it('a file that is not a database is an error at startup', async () => {
  writeFileSync(join(dataDir, 'database.sqlite'), 'not a database, by any means '.repeat(200));
  await expect(
    startEmbeddedDatabase({ directory: dataDir, onFatal: () => expect.unreachable() }),
  ).rejects.toThrow('not a database');
});

it('the end of its thread is reported, because the process cannot serve without it', async () => {
  const threads: Worker[] = [];
  const remember = (thread: Worker) => threads.push(thread);
  process.on('worker', remember);
  const died = Promise.withResolvers<Error>();
  const database = await startEmbeddedDatabase({ directory: dataDir, onFatal: died.resolve });
  process.off('worker', remember);
  await threads[0]?.terminate();
  expect((await died.promise).message).toContain('the embedded database ended');
  await database.close();
});
