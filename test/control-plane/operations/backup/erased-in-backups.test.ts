/** What a backup still reveals of a session erased after it, when restored by the command line. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { openDatabase } from '#control-plane/platform/store/database.ts';
import type { SessionDocument } from '#control-plane/platform/store/models/session-model.ts';
import { defineModels } from '#control-plane/platform/store/models.ts';
import { runParley } from '../../../command-line.ts';
import type { TestUser } from '../../test-api.ts';
import { openTestCalls, type TestCalls } from '../../test-calls.ts';
import { openTestStore, type TestStore } from '../../test-store.ts';
import { fileCredentials } from './file-credentials.ts';

const PATIENCE = { timeout: 120_000 };
let folder: string;
let store: TestStore;
let api: TestCalls;
let user: TestUser;
let agentId: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-erased-'));
  const credentials = fileCredentials(folder);
  store = await openTestStore();
  api = await openTestCalls({ DATA_DIR: folder }, { credentials }, store);
  user = await api.createUser();
  agentId = await api.publishAgent(user);
  await api.app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  await api.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A call by this person, with a transcript. */
async function callOf(person: string): Promise<string> {
  const body = { agent_id: agentId, end_user_id: person, metadata: { note: `planted ${person}` } };
  const id: string = (await api.request('POST', '/v1/agent/sessions', { key: user.key, body })).body
    .session_id;
  await api.report(id, { type: 'joined', at: api.at() });
  const item = {
    type: 'message' as const,
    role: 'user' as const,
    content: `said by ${person}`,
    turn_id: 1,
    id: person,
    created_at: api.at(),
  };
  await api.report(id, { type: 'items', items: [item] });
  await api.report(id, { type: 'ended', at: api.at(1_000), end_reason: 'agent_hangup' });
  return id;
}

const erase = (end_user_id: string) =>
  api.request('POST', '/v1/agent/erasures', { key: user.key, body: { end_user_id } });

async function parley(...args: string[]): Promise<void> {
  const environment = { PARLEY_URL: api.app.listeningOrigin, PARLEY_API_KEY: api.rootKey };
  expect(await runParley(args, { folder, environment })).toMatchObject({ code: 0, err: '' });
}

/** The file of keys beside the backups. */
function keysFile(): string {
  const [file] = readdirSync(folder).filter((name) =>
    /^parley-session-keys-[0-9a-f]{12}\.ndjson$/.test(name),
  );
  return join(folder, file!);
}

/** Reads sessions of a restored database. */
async function restoredSessions(dataDir: string, ...ids: string[]): Promise<(SessionDocument | null)[]> {
  const logger = createLogger({ level: 'silent', name: 'test' });
  const database = await openDatabase({
    mongodbUrl: undefined,
    dataDir,
    clock: systemClock,
    logger,
    onFatal: () => expect.unreachable(),
  });
  const { sessions } = defineModels(database.connection);
  const found = await Promise.all(ids.map((id) => sessions.findById(id).lean<SessionDocument>()));
  await database.close();
  return found;
}

it(
  'security 18: the database in a backup has no session keys and no readable caller data',
  PATIENCE,
  async () => {
    await callOf('u-1');
    await parley('backup', 'a.tar');
    const tar = readFileSync(join(folder, 'a.tar'));
    const [wrapped] = readFileSync(keysFile(), 'utf8').split('\n');
    expect(tar.includes('SQLite format 3')).toBe(true);
    expect(tar.includes(Buffer.from(JSON.parse(wrapped ?? '').wrapped_key, 'base64'))).toBe(false);
    expect(tar.includes('planted u-1')).toBe(false);
  },
);

it(
  'security 18: a session erased after a backup stays unreadable in it; other sessions still open',
  PATIENCE,
  async () => {
    const [erased, kept] = [await callOf('u-1'), await callOf('u-2')];
    const before = await api.context.models.sessions.findById(kept).lean<SessionDocument>();
    await parley('backup', 'a.tar');
    await erase('u-1');
    await parley('backup', '--keys-only');
    await parley('restore', 'a.tar', '--data-dir', join(folder, 'restored'));
    const [closed, open] = await restoredSessions(join(folder, 'restored'), erased, kept);
    expect(closed).toMatchObject({ wrapped_key: null, end_user_id: null, metadata: '{}' });
    expect(JSON.stringify(open)).toBe(JSON.stringify(before));
  },
);

it(
  'security 18: a restore prefers the keys of the local source deployment to older ones in a file',
  PATIENCE,
  async () => {
    const id = await callOf('u-1');
    await parley('backup', 'a.tar');
    await erase('u-1');
    await parley('restore', 'a.tar', '--data-dir', join(folder, 'old-keys'));
    expect((await restoredSessions(join(folder, 'old-keys'), id))[0]?.wrapped_key).not.toBeNull();
    // The test's database is elsewhere; copy it to where the restore looks in a deployment.
    mkdirSync(join(folder, 'database'));
    await store.database.copyTo?.(join(folder, 'database', 'database.sqlite'));
    await parley('restore', 'a.tar', '--data-dir', join(folder, 'restored'));
    expect((await restoredSessions(join(folder, 'restored'), id))[0]?.wrapped_key).toBeNull();
  },
);

it('security 18: erased data disappears from the database files', PATIENCE, async () => {
  const id = await callOf('u-1');
  const { wrapped_key } = (await api.context.models.sessions.findById(id).lean())!;
  const key = Buffer.from((wrapped_key as { buffer: Uint8Array }).buffer);
  const directory = join(store.dataDir, 'database');
  const files = () => readdirSync(directory).filter((file) => file.startsWith('database.sqlite'));
  const isOnDisk = (bytes: Buffer) =>
    files().some((file) => readFileSync(join(directory, file)).includes(bytes));
  expect(isOnDisk(key)).toBe(true);
  await erase('u-1');
  await expect.poll(() => isOnDisk(key), { timeout: 10_000 }).toBe(false);
  expect(isOnDisk(Buffer.from('planted u-1'))).toBe(false);
});

it(
  'security 18: a backup of another deployment into the same directory keeps the keys of this one',
  PATIENCE,
  async () => {
    const id = await callOf('u-1');
    await parley('backup', 'a.tar');
    const other = await openTestCalls({});
    await other.app.listen({ host: '127.0.0.1', port: 0 });
    const environment = { PARLEY_URL: other.app.listeningOrigin, PARLEY_API_KEY: other.rootKey };
    expect(await runParley(['backup', '--keys-only'], { folder, environment })).toMatchObject({ code: 0 });
    await other.close();
    await parley('restore', 'a.tar', '--data-dir', join(folder, 'restored'));
    expect((await restoredSessions(join(folder, 'restored'), id))[0]?.wrapped_key).not.toBeNull();
  },
);

it(
  'security 18: a new deployment does not overwrite the keys of the sessions that it lost',
  PATIENCE,
  async () => {
    await callOf('u-1');
    await parley('backup', 'a.tar');
    const keys = readFileSync(keysFile(), 'utf8');
    await api.context.models.sessions.deleteMany({});
    await callOf('u-2');
    const environment = { PARLEY_URL: api.app.listeningOrigin, PARLEY_API_KEY: api.rootKey };
    const { code, err } = await runParley(['backup', 'b.tar'], { folder, environment });
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/b\.tar is complete.*move the file away.*parley backup --keys-only/s),
    ]);
    expect(readFileSync(keysFile(), 'utf8')).toBe(keys);
  },
);

it('the keys of a new deployment are kept too, and open its backups', PATIENCE, async () => {
  await callOf('u-1');
  await parley('backup', 'a.tar');
  await api.context.models.sessions.deleteMany({});
  const id = await callOf('u-2');
  const environment = { PARLEY_URL: api.app.listeningOrigin, PARLEY_API_KEY: api.rootKey };
  await runParley(['backup', 'b.tar'], { folder, environment });
  const apart = keysFile().replace('.ndjson', '-afresh.ndjson');
  await parley('restore', 'b.tar', '--data-dir', join(folder, 'restored'), '--keys', apart);
  expect((await restoredSessions(join(folder, 'restored'), id))[0]?.wrapped_key).not.toBeNull();
  // Once the older file is moved away, one file holds all keys again: a stale second file would open sessions
  // erased from now on.
  renameSync(keysFile(), join(folder, 'moved.ndjson'));
  await parley('backup', '--keys-only');
  expect([existsSync(apart), readFileSync(keysFile(), 'utf8')]).toEqual([false, expect.stringContaining(id)]);
});

/** Backs up the keys; returns the messages, which say whether a separate file was used. */
async function backUpKeys(): Promise<string> {
  const environment = { PARLEY_URL: api.app.listeningOrigin, PARLEY_API_KEY: api.rootKey };
  return (await runParley(['backup', '--keys-only'], { folder, environment })).err;
}

it(
  'the keys of a fresh start are kept when the previous deployment returns, and a message says so',
  PATIENCE,
  async () => {
    const { sessions } = api.context.models;
    await callOf('u-1');
    await parley('backup', 'a.tar');
    const before = await sessions.find({}).lean();
    await sessions.deleteMany({});
    const id = await callOf('u-2');
    const environment = { PARLEY_URL: api.app.listeningOrigin, PARLEY_API_KEY: api.rootKey };
    await runParley(['backup', 'b.tar'], { folder, environment });
    await sessions.deleteMany({});
    await sessions.insertMany(before);
    const apart = keysFile().replace('.ndjson', '-afresh.ndjson');
    expect(await backUpKeys()).toMatch(
      /^\S+-afresh\.ndjson has the keys of 1 sessions unknown to the product: the file is kept; keep it with its tars\n$/,
    );
    await parley('restore', 'b.tar', '--data-dir', join(folder, 'restored'), '--keys', apart);
    expect((await restoredSessions(join(folder, 'restored'), id))[0]?.wrapped_key).not.toBeNull();
  },
);

it('a second fresh start has a key file of its own, which its next backup replaces', PATIENCE, async () => {
  const started: string[] = [];
  for (const person of ['u-1', 'u-2', 'u-3']) {
    await api.context.models.sessions.deleteMany({});
    started.push(await callOf(person));
    await backUpKeys();
  }
  const [, second, third] = started;
  const later = await callOf('u-4');
  expect(await backUpKeys()).toContain('-afresh-2.ndjson: move the file away');
  const apart = (end: string) => readFileSync(keysFile().replace('.ndjson', `${end}.ndjson`), 'utf8');
  expect(apart('-afresh')).toContain(second);
  expect(apart('-afresh-2')).toMatch(new RegExp(`${third}.*${later}`, 's'));
  expect(existsSync(keysFile().replace('.ndjson', '-afresh-3.ndjson'))).toBe(false);
});

it('a backup replaces a key file whose sessions were all erased', PATIENCE, async () => {
  const gone = await callOf('u-1');
  await parley('backup', 'a.tar');
  await erase('u-1');
  const id = await callOf('u-2');
  await parley('backup', 'b.tar');
  await parley('restore', 'b.tar', '--data-dir', join(folder, 'restored'));
  await parley('restore', 'a.tar', '--data-dir', join(folder, 'older'));
  expect((await restoredSessions(join(folder, 'restored'), id))[0]?.wrapped_key).not.toBeNull();
  expect((await restoredSessions(join(folder, 'older'), gone))[0]?.wrapped_key).toBeNull();
});

it.each([
  ['of another deployment', 'other', ''],
  ['that is damaged', 'own', 'cannot be read'],
])(
  'security 18: a database %s at the backup’s source does not replace the keys beside the backup',
  PATIENCE,
  async (_what, credentials, message) => {
    const id = await callOf('u-1');
    await parley('backup', 'a.tar');
    mkdirSync(join(folder, 'database'));
    if (credentials === 'own')
      writeFileSync(join(folder, 'database', 'database.sqlite'), 'no database at all '.repeat(500));
    else {
      rmSync(join(folder, 'credentials.json'));
      fileCredentials(folder);
      await api.context.models.sessions.updateMany({}, { $set: { wrapped_key: null } });
      await store.database.copyTo?.(join(folder, 'database', 'database.sqlite'));
    }
    const ran = await runParley(['restore', 'a.tar', '--data-dir', join(folder, 'restored')], {
      folder,
      environment: {},
    });
    expect(ran).toMatchObject({ code: 0, err: message === '' ? '' : expect.stringContaining(message) });
    expect((await restoredSessions(join(folder, 'restored'), id))[0]?.wrapped_key).not.toBeNull();
  },
);

it(
  'security 18: keys of another backup are rejected, and the message names the option for others',
  PATIENCE,
  async () => {
    const id = await callOf('u-1');
    await parley('backup', 'a.tar');
    const wrong = JSON.stringify({ session_id: id, wrapped_key: Buffer.alloc(60).toString('base64') });
    writeFileSync(join(folder, 'wrong.ndjson'), `${wrong}\n`);
    const { code, err } = await runParley(
      ['restore', 'a.tar', '--data-dir', join(folder, 'restored'), '--keys', 'wrong.ndjson'],
      {
        folder,
        environment: {},
      },
    );
    expect([code, err]).toEqual([2, expect.stringContaining('--keys')]);
  },
);

it('security 18: leftovers of an interrupted restore do not enter the next one', PATIENCE, async () => {
  const id = await callOf('u-1');
  await parley('backup', 'a.tar');
  const left = join(folder, 'restored', 'database');
  mkdirSync(left, { recursive: true });
  const other = new DatabaseSync(join(folder, 'other.sqlite'));
  other.exec('PRAGMA journal_mode=WAL; CREATE TABLE stale (id); INSERT INTO stale VALUES (1)');
  copyFileSync(join(folder, 'other.sqlite-wal'), join(left, 'database.sqlite.partial-wal'));
  other.close();
  await parley('restore', 'a.tar', '--data-dir', join(folder, 'restored'));
  expect((await restoredSessions(join(folder, 'restored'), id))[0]?.wrapped_key).not.toBeNull();
});

it(
  'a text session is as unreadable in a backup as a call, and its key is in the file of keys',
  PATIENCE,
  async () => {
    const body = { agent_id: agentId, end_user_id: 'u-text', metadata: { note: 'planted u-text' } };
    const created = await api.request('POST', '/v1/agent/text-sessions', { key: user.key, body });
    const id: string = created.body.text_session_id;
    await parley('backup', 'a.tar');
    const tar = readFileSync(join(folder, 'a.tar'));
    const keys = readFileSync(keysFile(), 'utf8').trim().split('\n');
    const own = keys.map((line) => JSON.parse(line)).find(({ session_id }) => session_id === id);
    expect(tar.includes(id)).toBe(true);
    expect(tar.includes(Buffer.from(own.wrapped_key, 'base64'))).toBe(false);
    expect(tar.includes('planted u-text')).toBe(false);
  },
);
