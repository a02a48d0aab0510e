/**
 * The keys of sessions, which a backup omits: the file in which `parley backup` stores them, one per
 * deployment, and where `parley restore` finds the newest ones.
 */
import { createWriteStream, existsSync } from 'node:fs';
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { parseJson } from '#base/parse-json.ts';
import { deploymentKeyIn, deploymentOf } from '#config/credentials.ts';
import {
  hasDeploymentKey,
  keysIn,
  type WrappedKeys,
} from '#control-plane/operations/backup/withheld-keys.ts';
import { type Api, CommandError } from './api.ts';

const keyLine = z.object({ session_id: z.string(), wrapped_key: z.base64().nullable() });
const deploymentName = /^[0-9a-f]{12}$/;

/** File name of a deployment's keys; its middle is `deploymentOf` the deployment key. */
export const KEYS_FILE = 'parley-session-keys-<deployment>.ndjson';

/**
 * Writes the keys of all sessions into the deployment's file in a directory, replacing older ones, which
 * would still open what was erased since. Returns the file. Throws `CommandError` if the existing file
 * contains keys and the deployment knows none of their sessions, not even as erased (replacing it after a
 * fresh start would make every older tar unreadable), or if that file is damaged; the new keys then go to a
 * separate file. Such a separate file is deleted once the deployment knows every session with a key in it;
 * until then it stays, with a note on standard error.
 */
export async function fetchKeys(api: Api, directory: string): Promise<string> {
  const response = await api.send('POST', '/admin/backup/session-keys');
  const deployment = response.headers.get('parley-deployment') ?? '';
  if (!deploymentName.test(deployment))
    throw new CommandError('the product there does not say which deployment it is: update it');
  const file = join(directory, keysFileOf(deployment));
  const partial = `${file}.partial`;
  try {
    await pipeline(
      response.body as unknown as AsyncIterable<Uint8Array>,
      createWriteStream(partial, { mode: 0o600, flush: true }),
    );
    const known = new Set((await linesOf(partial)).map(({ session_id }) => session_id));
    const reason = existsSync(file) ? await reasonToKeep(file, known, 'one') : null;
    const apart = await separateKeyFiles(directory, deployment);
    const outdated: string[] = [];
    for (const each of apart) {
      const stays = await reasonToKeep(each, known, 'every');
      if (stays === null) outdated.push(each);
      else console.error(`${each} ${stays}: the file is kept; keep it with its tars`);
    }
    const place = reason === null ? file : (outdated[0] ?? unusedName(file, apart));
    await rename(partial, place);
    // Everything that only these keys could decrypt has been erased since.
    for (const each of outdated) if (each !== place) await rm(each);
    if (reason !== null)
      throw new CommandError(
        `${file} ${reason}, and the newest keys are in ${place}: move the file away with its tars`,
      );
  } finally {
    await rm(partial, { force: true });
  }
  return file;
}

/** Other files with a deployment's keys, written while the regular file belonged to another deployment. */
async function separateKeyFiles(directory: string, deployment: string): Promise<string[]> {
  const start = keysFileOf(deployment).replace('.ndjson', '-afresh');
  const names = (await readdir(directory)).filter(
    (name) => name.startsWith(start) && /^(-\d+)?\.ndjson$/.test(name.slice(start.length)),
  );
  return names.map((name) => join(directory, name));
}

function unusedName(file: string, used: readonly string[]): string {
  const nameOf = (count: number) =>
    file.replace(/\.ndjson$/, `-afresh${count === 1 ? '' : `-${count}`}.ndjson`);
  let count = 1;
  while (used.includes(nameOf(count))) count += 1;
  return nameOf(count);
}

/**
 * Why a file must be kept although newer keys exist; null if it can be deleted, because one or every session
 * with a key in it is known.
 */
async function reasonToKeep(
  file: string,
  known: ReadonlySet<string>,
  needed: 'one' | 'every',
): Promise<string | null> {
  const kept = await keysOf(file).catch((error: unknown) => {
    if (error instanceof CommandError) return null;
    throw error;
  });
  if (kept === null) return 'is damaged';
  const lost = [...kept.keys()].filter((session) => !known.has(session)).length;
  if (lost === 0 || (needed === 'one' && lost < kept.size)) return null;
  return `has the keys of ${lost} sessions unknown to the product`;
}

/**
 * The keys from the first of these places that has any: the named file, the deployment of the backup, the
 * keys file beside the backup.
 */
export async function newestKeys(source: {
  readonly given: string | undefined;
  /** `DATA_DIR` of the deployment, which may no longer exist or belong to another. */
  readonly origin: string | undefined;
  readonly directory: string;
  readonly deploymentKey: Buffer;
}): Promise<WrappedKeys> {
  if (source.given !== undefined) return keysOf(source.given);
  const live = source.origin === undefined ? null : liveKeys(source.origin, source.deploymentKey);
  if (live) return live;
  const beside = join(source.directory, keysFileOf(deploymentOf(source.deploymentKey)));
  return existsSync(beside) ? keysOf(beside) : new Map();
}

/** Null if the deployment no longer exists or cannot be read; the latter is printed. */
function liveKeys(dataDir: string, deploymentKey: Buffer): WrappedKeys | null {
  const database = join(dataDir, 'database', 'database.sqlite');
  if (!existsSync(database)) return null;
  try {
    const fileKey = deploymentKeyIn(join(dataDir, 'credentials.json'));
    const isSame = fileKey ? fileKey.equals(deploymentKey) : hasDeploymentKey(database, deploymentKey);
    return isSame ? keysIn(database) : null;
  } catch (error) {
    console.error(
      `The keys of sessions in ${dataDir} cannot be read (${(error as Error).message}): using those ` +
        'beside the backup',
    );
    return null;
  }
}

async function keysOf(file: string): Promise<WrappedKeys> {
  return new Map(
    (await linesOf(file)).flatMap(({ session_id, wrapped_key }) =>
      wrapped_key === null ? [] : [[session_id, Buffer.from(wrapped_key, 'base64')]],
    ),
  );
}

async function linesOf(file: string): Promise<z.output<typeof keyLine>[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
  const parsed = lines.map((line) => parseJson(keyLine, line));
  if (parsed.includes(null))
    throw new CommandError(
      `${file} contains no keys of sessions: give the file that \`parley backup\` wrote (${KEYS_FILE})`,
    );
  return parsed.flatMap((line) => line ?? []);
}

function keysFileOf(deployment: string): string {
  return KEYS_FILE.replace('<deployment>', deployment);
}
