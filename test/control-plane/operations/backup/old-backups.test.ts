/** A backup written by a release before format 2, restored by today's command line. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '#base/clock.ts';
import { createLogger } from '#base/log.ts';
import { openDatabase } from '#control-plane/platform/store/database.ts';
import { defineModels } from '#control-plane/platform/store/models.ts';
import { openBlobs } from '#media/blobs/blobs.ts';
import { runParley } from '../../../command-line.ts';
import { openTestCalls } from '../../test-calls.ts';
import { openTestStore } from '../../test-store.ts';
import { fileCredentials } from './file-credentials.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-old-backup-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/**
 * The tar as such a release wrote it: without the directory in its manifest, and with session keys in the
 * database.
 */
async function tarOfFormat1(database: Buffer): Promise<Buffer> {
  const tar = pack();
  const manifest = {
    format: 'parley-backup',
    version: 1,
    created_at: '2026-11-01T00:00:00.000Z',
    has_blobs: true,
  };
  tar.entry({ name: 'manifest.json' }, JSON.stringify(manifest));
  tar.entry({ name: 'credentials.json' }, readFileSync(join(folder, 'credentials.json')));
  tar.entry({ name: 'database/database.sqlite' }, database);
  tar.entry({ name: 'blobs/greeting' }, 'sound');
  tar.finalize();
  return buffer(tar);
}

it('a backup of format 1 is restored with its blobs and readable sessions, without a key file', {
  timeout: 120_000,
}, async () => {
  const credentials = fileCredentials(folder);
  const store = await openTestStore();
  const api = await openTestCalls({}, { credentials }, store);
  const user = await api.createUser();
  const created = { agent_id: await api.publishAgent(user), end_user_id: 'u-1', metadata: { order: 7 } };
  const id: string = (await api.request('POST', '/v1/agent/sessions', { key: user.key, body: created })).body
    .session_id;
  await api.report(id, { type: 'joined', at: api.at() });
  const said = {
    type: 'message' as const,
    role: 'user' as const,
    content: 'A table for two.',
    turn_id: 1,
    id: 'm1',
    created_at: api.at(),
  };
  await api.report(id, { type: 'items', items: [said] });
  await api.report(id, { type: 'ended', at: api.at(1_000), end_reason: 'agent_hangup' });
  // That release stored an object; today it is text.
  await api.context.models.sessions.collection.updateOne(
    { _id: id as never },
    { $set: { metadata: { order: 7 } } },
  );
  await store.database.copyTo?.(join(folder, 'copy.sqlite'));
  await api.close();
  writeFileSync(join(folder, 'old.tar'), await tarOfFormat1(readFileSync(join(folder, 'copy.sqlite'))));

  const intoBucket = await runParley(['restore', 'old.tar', '--data-dir', join(folder, 'bucket')], {
    folder,
    environment: { BLOBS_URL: 's3://recordings' },
  });
  expect(intoBucket.code).toBe(2);
  expect(intoBucket.err).toContain('recordings, which cannot be restored into a bucket');

  const dataDir = join(folder, 'restored');
  expect(
    await runParley(['restore', 'old.tar', '--data-dir', dataDir], { folder, environment: {} }),
  ).toMatchObject({ code: 0, err: '' });

  const logger = createLogger({ level: 'silent', name: 'test' });
  const database = await openDatabase({
    mongodbUrl: undefined,
    dataDir,
    clock: systemClock,
    logger,
    onFatal: () => expect.unreachable(),
  });
  const stored = { database, models: defineModels(database.connection), close: () => database.close() };
  const again = await openTestCalls({}, { credentials: fileCredentials(dataDir) }, stored);
  const { status, body } = await again.request('GET', `/v1/agent/sessions/${id}`, { key: user.key });
  await again.close();
  expect(status).toBe(200);
  expect(body).toMatchObject({ metadata: { order: 7 }, items: [{ content: 'A table for two.' }] });
  expect(await openBlobs(join(dataDir, 'blobs')).get('greeting')).toEqual(Buffer.from('sound'));
});
