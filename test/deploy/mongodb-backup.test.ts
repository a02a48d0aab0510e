/** The commands by which operations.md backs up and restores a MongoDB, run while the product writes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import mongoose from 'mongoose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi, type TestUser } from '#test/control-plane/test-api.ts';
import { openTestStore } from '#test/control-plane/test-store.ts';
import { freeTcpPort } from '#test/free-port.ts';
import { describeWhereThere } from '#test/needs.ts';

const OPERATIONS = join(import.meta.dirname, '../../docs/operations.md');
/** Of one deployment, before and after. */
const CREDENTIALS = {
  rootApiKey: 'the-key-of-the-operator',
  workerToken: 'the-token-of-workers',
  deploymentKey: randomBytes(32),
  file: '',
};

let folder: string;
const servers: ChildProcess[] = [];

/** The dump and the restore, as the page has them. */
function documentedCommands(): readonly [string, string] {
  const section = readFileSync(OPERATIONS, 'utf8').split('### MongoDB and buckets')[1] ?? '';
  const [dump = '', restore = ''] =
    /```sh\n(?<lines>[^`]*)```/.exec(section)?.groups?.['lines']?.split('\n') ?? [];
  return [dump, restore];
}

/** Starts a replica set of one; returns its address without the name of a database. */
async function startMongodb(): Promise<string> {
  const port = await freeTcpPort();
  const data = join(folder, `data-${port}`);
  mkdirSync(data);
  const options = ['--bind_ip', '127.0.0.1', '--replSet', 'rs0', '--wiredTigerCacheSizeGB', '0.25'];
  servers.push(spawn('mongod', ['--dbpath', data, '--port', String(port), ...options], { stdio: 'ignore' }));
  const host = `127.0.0.1:${port}`;
  const client = await mongoose.mongo.MongoClient.connect(`mongodb://${host}/?directConnection=true`);
  try {
    const members = [{ _id: 0, host }];
    await client.db('admin').command({ replSetInitiate: { _id: 'rs0', members } });
    await expect
      .poll(async () => (await client.db('admin').command({ hello: 1 }))['isWritablePrimary'], {
        timeout: 20_000,
      })
      .toBe(true);
  } finally {
    await client.close();
  }
  return `mongodb://${host}/?replicaSet=rs0`;
}

/** The product on a MongoDB. */
async function openApi(address: string): Promise<TestApi> {
  const store = await openTestStore(address.replace('/?', '/parley?'));
  return openTestApi({}, { credentials: CREDENTIALS }, store);
}

/** Runs a command of the page in the folder; throws with its messages if it fails. */
async function run(command: string, address: string): Promise<void> {
  const shell = spawn('sh', ['-c', command], {
    cwd: folder,
    env: { PATH: process.env['PATH'], BACKUP_URL: address },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [problem, [code]] = await Promise.all([text(shell.stderr), once(shell, 'exit')]);
  if (code !== 0) throw new Error(`${command}: ${problem}`);
}

/** Opens accounts, each with its first credit, until `work` is done. */
async function openAccountsDuring(api: TestApi, work: Promise<void>): Promise<void> {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  while (!isDone) await api.createUser();
  await done;
}

describeWhereThere(['mongod', 'mongodump', 'mongorestore'])('the documented backup of a MongoDB', () => {
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'parley-mongodb-backup-'));
  });
  afterAll(async () => {
    for (const server of servers) {
      server.kill('SIGKILL');
      if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
    }
    rmSync(folder, { recursive: true, force: true });
  });

  it('is restored with every account opened before, and with balances that add up', {
    timeout: 60_000,
  }, async () => {
    const [dump, restore] = documentedCommands();
    const [address, other] = await Promise.all([startMongodb(), startMongodb()]);
    const api = await openApi(address);
    const early: TestUser[] = [await api.createUser(), await api.createUser()];
    await openAccountsDuring(api, run(dump, address));
    await api.close();

    await run(restore, other);
    const restored = await openApi(other);
    for (const { userId, key } of early)
      expect((await restored.request('GET', `/wallet/${userId}/api-credit`, { key })).status).toBe(200);
    const verified = await restored.request('GET', '/admin/wallets/verify', { key: restored.rootKey });
    expect(verified.body).toMatchObject({ flaws: [] });
    expect(verified.body.users).toBeGreaterThanOrEqual(early.length);
    await restored.close();
  });
});
