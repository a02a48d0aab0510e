/**
 * Contents of a backup: `manifest.json`, `credentials.json` (with the deployment key, without which encrypted
 * data cannot be read), a snapshot of the database without the keys of its sessions, and the blobs. Blobs
 * written during the backup may be included; one erased meanwhile is not.
 */
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Pack, pack } from 'tar-stream';
import { credentialsText } from '#config/credentials.ts';
import { type Context, now } from '../../platform/context.ts';
import { runThread } from './run-thread.ts';

type Parts = Pick<Context, 'settings' | 'credentials' | 'blobs' | 'clock' | 'logger'>;

/**
 * Returns the tar as a stream; resolves once the database has been copied. Rejects if there is no disk space
 * for the copy. The stream fails if a file cannot be read.
 */
export async function packBackup(context: Parts, copyTo: (file: string) => Promise<void>): Promise<Readable> {
  const scratch = await mkdtemp(join(context.settings.DATA_DIR, 'backup-'));
  const copy = join(scratch, 'database.sqlite');
  const removeScratch = () => rm(scratch, { recursive: true, force: true });
  try {
    await copyTo(copy);
    // Runs on a separate thread, because every session of the copy is rewritten.
    await runThread(new URL('./withhold-thread.ts', import.meta.url), {
      file: copy,
      deploymentKey: context.credentials.deploymentKey,
    });
  } catch (error) {
    await removeScratch();
    throw error;
  }
  const tar = pack();
  fill(tar, context, copy)
    .catch((error: unknown) => {
      context.logger.error({ err: error }, 'a backup was aborted');
      tar.destroy(error instanceof Error ? error : new Error(String(error)));
    })
    .finally(removeScratch)
    .catch((error: unknown) =>
      context.logger.warn({ err: error, scratch }, 'failed to delete the temporary copy of the database'),
    );
  return Readable.from(tar, { objectMode: false });
}

async function fill(tar: Pack, context: Parts, database: string): Promise<void> {
  const { settings, credentials, blobs } = context;
  // If the reader disconnects, the tar ends and no callback follows.
  const gone = new Promise<never>((_resolve, reject) =>
    tar.once('close', () => reject(new Error('the client disconnected'))),
  );
  gone.catch(() => undefined);
  const add = (name: string, bytes: Buffer) =>
    Promise.race([
      gone,
      new Promise<void>((resolve, reject) =>
        tar.entry({ name, mode: 0o600 }, bytes, (error) => (error ? reject(error) : resolve())),
      ),
    ]);
  // Recordings in a bucket are backed up by its owner.
  const hasBlobs = !settings.BLOBS_URL.startsWith('s3:');
  const manifest = {
    format: 'parley-backup',
    version: 2,
    created_at: now(context).toISOString(),
    has_blobs: hasBlobs,
    data_dir: settings.DATA_DIR,
  };
  await add('manifest.json', Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`));
  await add('credentials.json', Buffer.from(credentialsText(credentials)));
  const { size } = await stat(database);
  await Promise.race([
    gone,
    pipeline(createReadStream(database), tar.entry({ name: 'database/database.sqlite', size, mode: 0o600 })),
  ]);
  for (const key of hasBlobs ? await blobs.list('') : []) {
    const bytes = await blobs.get(key);
    if (bytes) await add(`blobs/${key}`, bytes);
  }
  tar.finalize();
}
