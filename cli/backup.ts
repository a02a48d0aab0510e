/**
 * `parley backup` and `parley restore`: a whole deployment as one tar, made while it runs, and restored into
 * an empty DATA_DIR.
 */
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { type Extract, extract } from 'tar-stream';
import { z } from 'zod';
import { lockDataDir } from '#base/data-dir-lock.ts';
import { deploymentKeyIn } from '#config/credentials.ts';
import { readSettingsAndFiles } from '#config/secret-files.ts';
import { returnKeys, type WrappedKeys } from '#control-plane/operations/backup/withheld-keys.ts';
import { createDataKeys } from '#control-plane/platform/secrets/secret-box.ts';
import { type Blobs, openBlobs } from '#media/blobs/blobs.ts';
import { CommandError } from './api.ts';
import type { CommandContext } from './command-context.ts';
import { mebibytes, show, showProgress } from './output.ts';
import { fetchKeys, KEYS_FILE, newestKeys } from './session-keys.ts';

const manifest = z.object({
  format: z.literal('parley-backup'),
  /** Version 1 contains the keys of its sessions. */
  version: z.union([z.literal(1), z.literal(2)]),
  created_at: z.string(),
  has_blobs: z.boolean(),
  data_dir: z.string().optional(),
});

/** The tar and the restored files contain secrets. They are flushed before they count as written. */
const PRIVATE = { mode: 0o600, flush: true };

/** Adds the commands. */
export function addBackupCommands(program: Command, common: CommandContext): void {
  program
    .command('backup [file]')
    .description(
      'write the database, the recordings and the secrets to one tar while the product runs (operator), ' +
        `and the keys of sessions to ${KEYS_FILE} beside it`,
    )
    .option('--keys-only', `only write ${KEYS_FILE} again, after an erasure`)
    .action(
      async (
        file = `parley-${new Date().toISOString().replace(/[:.]/g, '-')}.tar`,
        options: { keysOnly?: boolean },
      ) => {
        if (!options.keysOnly) return writeBackup(common, file);
        const keys = await fetchKeys(common.api(), dirname(file));
        show({ keys }, common, () => console.log(`Keys of sessions in ${keys}`));
      },
    );

  program
    .command('restore <file>')
    .description(
      'restore a backup into an empty DATA_DIR that no product uses; recordings go to BLOBS_URL, a directory',
    )
    .option('--data-dir <directory>', 'instead of DATA_DIR')
    .option(
      '--keys <file>',
      'newest keys of sessions; default: those of the original deployment if it is on this machine, or ' +
        `${KEYS_FILE} beside the backup`,
    )
    .action(async (file: string, options: RestoreOptions) => restoreBackup(common, file, options));
}

/** Downloads a backup into a new file. Throws `CommandError`. */
async function writeBackup(common: CommandContext, file: string): Promise<void> {
  if (existsSync(file)) throw new CommandError(`${file} already exists: choose another file`);
  const response = await common.api().send('POST', '/admin/backup');
  const partial = `${file}.partial`;
  try {
    await pipeline(
      withProgress(response.body as unknown as AsyncIterable<Uint8Array>),
      createWriteStream(partial, PRIVATE),
    );
    showProgress('');
  } catch (error) {
    showProgress('');
    await rm(partial, { force: true });
    throw new CommandError(
      `the backup failed (${(error as Error).message}): see the product’s log, then try again`,
    );
  }
  await rename(partial, file);
  const keys = await saveKeysBeside(file, common);
  const { size } = await stat(file);
  show({ file, bytes: size, keys }, common, () =>
    console.log(`Backed up into ${file} (${mebibytes(size)}), its sessions' keys in ${keys}`),
  );
}

interface RestoreOptions {
  readonly dataDir?: string;
  readonly keys?: string;
}

async function restoreBackup(common: CommandContext, file: string, options: RestoreOptions): Promise<void> {
  const settings = readSettingsAndFiles({
    ...process.env,
    ...(options.dataDir === undefined ? {} : { DATA_DIR: options.dataDir }),
  });
  const restored = await restore(file, {
    dataDir: settings.DATA_DIR,
    blobsUrl: settings.BLOBS_URL,
    keys: options.keys,
  });
  show({ ...restored, data_dir: settings.DATA_DIR }, common, () => {
    console.log(
      `Restored the backup of ${restored.created_at} into ${settings.DATA_DIR}, with ` +
        `${restored.blobs} recordings and logs`,
    );
    if (restored.sessions.closed > 0)
      console.log(
        `${restored.sessions.closed} sessions cannot be read: they were erased, or their keys were not ` +
          'found (--keys)',
      );
    if (!restored.has_blobs)
      console.log('The backup contains no recordings, because they are in a bucket: set BLOBS_URL to it');
    console.log(`Start it with DATA_DIR=${settings.DATA_DIR} npm start`);
  });
}

/** Passes the stream of a backup through and shows its progress. */
async function* withProgress(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const part of source) {
    bytes += part.length;
    showProgress(`${mebibytes(bytes)} so far`);
    yield part;
  }
}

/**
 * Restores a backup into a data directory. The database and then credentials.json get their final names last,
 * so an interrupted restore leaves nothing that starts. Throws `CommandError`.
 */
async function restore(
  file: string,
  to: { readonly dataDir: string; readonly blobsUrl: string; readonly keys: string | undefined },
) {
  const lock = lockFree(to.dataDir);
  try {
    const database = join(to.dataDir, 'database', 'database.sqlite');
    const credentials = join(to.dataDir, 'credentials.json');
    for (const path of [database, credentials])
      if (existsSync(path))
        throw new CommandError(
          `${to.dataDir} already contains a deployment: move it away, or restore into another directory`,
        );
    await mkdir(join(to.dataDir, 'database'), { recursive: true, mode: 0o700 });
    // Files left by an interrupted restore would be mistaken for part of this one.
    for (const end of ['', '-wal', '-shm']) await rm(`${database}.partial${end}`, { force: true });
    const found = await unpack(resolve(file), {
      database: `${database}.partial`,
      credentials: `${credentials}.partial`,
      blobsUrl: to.blobsUrl,
    });
    const deploymentKey = deploymentKeyIn(`${credentials}.partial`);
    if (!deploymentKey) throw new CommandError(`${file} has no key in its credentials.json`);
    const keys = await newestKeys({
      given: to.keys,
      origin: found.data_dir,
      directory: dirname(resolve(file)),
      deploymentKey,
    });
    const sessions = restoreKeys(`${database}.partial`, keys, deploymentKey);
    await rename(`${database}.partial`, database);
    await rename(`${credentials}.partial`, credentials);
    return { ...found, sessions };
  } finally {
    lock.release();
  }
}

/**
 * Writes the file of session keys for a backup just made. Throws `CommandError`, which says that the backup
 * itself exists.
 */
async function saveKeysBeside(file: string, common: CommandContext): Promise<string> {
  try {
    return await fetchKeys(common.api(), dirname(file));
  } catch (error) {
    throw new CommandError(
      `${file} is complete, but the keys of its sessions could not be written ` +
        `(${(error as Error).message}): run \`parley backup --keys-only\` in its directory`,
    );
  }
}

/** Restores the keys of sessions. Throws `CommandError` if the keys belong to another deployment. */
function restoreKeys(database: string, keys: WrappedKeys, deploymentKey: Buffer) {
  try {
    return returnKeys(database, keys, createDataKeys(deploymentKey));
  } catch (error) {
    throw new CommandError(
      `the keys of sessions do not match this backup (${(error as Error).message}): give the file of its ` +
        'deployment with --keys',
    );
  }
}

function lockFree(dataDir: string) {
  try {
    return lockDataDir(dataDir);
  } catch (error) {
    throw new CommandError(`${(error as Error).message}: stop it first`);
  }
}

interface Places {
  readonly database: string;
  readonly credentials: string;
  readonly blobsUrl: string;
}

async function unpack(file: string, to: Places) {
  const tar = extract();
  // Errors of the file are thrown while its entries are read.
  createReadStream(file)
    .on('error', (error) => tar.destroy(error))
    .pipe(tar);
  try {
    return await unpackEntries(tar, to);
  } catch (error) {
    throw new CommandError(`${file} cannot be restored: ${(error as Error).message}`);
  }
}

async function unpackEntries(tar: Extract, to: Places) {
  const blobs = to.blobsUrl.startsWith('s3:') ? null : openBlobs(to.blobsUrl);
  const files = new Map([
    ['database/database.sqlite', to.database],
    ['credentials.json', to.credentials],
  ]);
  let about: z.output<typeof manifest> | null = null;
  let count = 0;
  for await (const entry of tar) {
    const { name } = entry.header;
    const place = files.get(name);
    if (name === 'manifest.json') about = manifest.parse(JSON.parse((await buffer(entry)).toString()));
    else if (!about) throw new Error('it is not a backup of this product');
    else if (place !== undefined) {
      await pipeline(entry, createWriteStream(place, PRIVATE));
      files.delete(name);
    } else if (name.startsWith('blobs/')) {
      await required(blobs).put(name.slice('blobs/'.length), await buffer(entry));
      count += 1;
    } else throw new Error(`it contains ${name}, which is not part of a backup`);
  }
  if (!about || files.size > 0) throw new Error(`it is incomplete: ${[...files.keys()].join(', ')} missing`);
  return { created_at: about.created_at, has_blobs: about.has_blobs, data_dir: about.data_dir, blobs: count };
}

/** Where to put recordings. Throws if BLOBS_URL is a bucket. */
function required(blobs: Blobs | null): Blobs {
  if (blobs) return blobs;
  throw new Error(
    'it contains recordings, which cannot be restored into a bucket: set BLOBS_URL to a directory, ' +
      'restore, then copy that directory into the bucket',
  );
}
