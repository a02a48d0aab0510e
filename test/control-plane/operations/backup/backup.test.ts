import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { extract } from 'tar-stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { RequestWait } from '#control-plane/platform/store/request-wait.ts';
import { openTestApi, type TestApi } from '../../test-api.ts';

const MONGODB = {
  ping: async () => true,
  requestWait: (isAnswered: () => boolean) => new RequestWait(systemClock, isAnswered),
  copyTo: null,
  scrub: () => undefined,
};

let api: TestApi;
let dataDir: string;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-backup-'));
  api = await openTestApi({ DATA_DIR: dataDir });
});
afterAll(async () => {
  await api.close();
  rmSync(dataDir, { recursive: true, force: true });
});

describe('POST /admin/backup', () => {
  it('is for the operator only', async () => {
    const user = await api.createUser();
    expect((await api.request('POST', '/admin/backup', { key: user.key })).status).toBe(403);
  });

  it('is a tar of the manifest, the keys, a complete database and every blob, and leaves no copy behind', async () => {
    await api.context.blobs.put('sessions/one/recording/user', Buffer.from('sound'));
    const response = await api.app.inject({
      method: 'POST',
      url: '/admin/backup',
      headers: { authorization: `Bearer ${api.rootKey}` },
    });
    expect([response.statusCode, response.headers['content-type']]).toEqual([200, 'application/x-tar']);
    const files = await unpack(response.rawPayload);
    expect([...files.keys()]).toEqual([
      'manifest.json',
      'credentials.json',
      'database/database.sqlite',
      'blobs/sessions/one/recording/user',
    ]);
    expect(JSON.parse(String(files.get('manifest.json')))).toMatchObject({
      format: 'parley-backup',
      version: 2,
      has_blobs: true,
    });
    expect(JSON.parse(String(files.get('credentials.json')))).toMatchObject({ root_api_key: api.rootKey });
    expect(files.get('database/database.sqlite')?.subarray(0, 15).toString()).toBe('SQLite format 3');
    expect(String(files.get('blobs/sessions/one/recording/user'))).toBe('sound');
    await expect.poll(() => readdirSync(dataDir)).toEqual([]);
  });

  it('refers to mongodump when MONGODB_URL is set', async () => {
    const mongo = await openTestApi({}, { database: MONGODB });
    const { status, body } = await mongo.request('POST', '/admin/backup', { key: mongo.rootKey });
    expect([status, body.message]).toEqual([409, expect.stringContaining('mongodump')]);
    await mongo.close();
  });

  it('store 11: advises, for MongoDB, to copy ledger and sessions at one moment, as the docs do', async () => {
    const mongo = await openTestApi({}, { database: MONGODB });
    const { body } = await mongo.request('POST', '/admin/backup', { key: mongo.rootKey });
    await mongo.close();
    expect(body.message).toContain('mongodump --oplog');
    expect(readFileSync(join(import.meta.dirname, '../../../../docs/operations.md'), 'utf8')).toContain(
      '`mongorestore --oplogReplay`',
    );
  });
});

async function unpack(tar: Buffer): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  for await (const entry of Readable.from([tar]).pipe(extract()))
    files.set(entry.header.name, await buffer(entry));
  return files;
}
