/** The keys of sessions that a backup leaves out: the file `parley backup` keeps them in, one for each deployment, and where `parley restore` finds the newest ones. */
import { createWriteStream, existsSync } from 'node:fs';
import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { deploymentOf, masterKeyIn } from '#config/credentials.ts';
import { parseJson } from '#config/parse-json.ts';
import { keysIn, type WrappedKeys } from '#control-plane/backup/withheld-keys.ts';
import { type Api, CommandError } from './api.ts';

const keyLine = z.object({ session_id: z.string(), wrapped_key: z.base64().nullable() });
const deploymentName = /^[0-9a-f]{12}$/;

/** How the file of a deployment is called; its middle is `deploymentOf` its master key. */
export const KEYS_FILE = 'parley-session-keys-<deployment>.ndjson';

/**
 * Writes the keys of all sessions into the deployment's file in a directory, in place of older ones: those open what was erased since. Returns the file.
 * Throws `CommandError` when the file that is there has keys and the deployment knows none of their sessions, not even as erased: one that was started afresh would
 * make every older tar unreadable; or when that file is damaged. The new keys are put into a file of their own then.
 */
export async function fetchKeys(api: Api, directory: string): Promise<string> {
  const response = await api.send('POST', '/admin/backup/session-keys');
  const deployment = response.headers.get('parley-deployment') ?? '';
  if (!deploymentName.test(deployment)) throw new CommandError('the product there does not say which deployment it is: update it');
  const file = join(directory, keysFileOf(deployment));
  const [partial, apart] = [`${file}.partial`, file.replace(/\.ndjson$/, '-afresh.ndjson')];
  try {
    await pipeline(response.body as unknown as AsyncIterable<Uint8Array>, createWriteStream(partial, { mode: 0o600, flush: true }));
    const reason = existsSync(file) ? await reasonToKeep(file, partial) : null;
    await rename(partial, reason === null ? file : apart);
    if (reason !== null) throw new CommandError(`${file} ${reason}, and the newest keys are in ${apart}: move the file away with its tars`);
    // What it may still open was erased since.
    await rm(apart, { force: true });
  } finally {
    await rm(partial, { force: true });
  }
  return file;
}

/** Why a newer file must not replace this one; null when it may. */
async function reasonToKeep(file: string, newer: string): Promise<string | null> {
  const known = new Set((await linesOf(newer)).map(({ session_id }) => session_id));
  const kept = await keysOf(file).catch((error: unknown) => {
    if (error instanceof CommandError) return null;
    throw error;
  });
  if (kept === null) return 'is damaged';
  if (kept.size === 0 || [...kept.keys()].some((session) => known.has(session))) return null;
  return `has the keys of ${kept.size} sessions the product knows nothing of, so it was started afresh`;
}

/** The keys in the first place there are any: the file that was named, the deployment the backup is from, its file beside the backup. */
export async function newestKeys(of: {
  readonly given: string | undefined;
  /** `DATA_DIR` of the deployment, which may be gone, or another one's by now. */
  readonly origin: string | undefined;
  readonly directory: string;
  readonly masterKey: Buffer;
}): Promise<WrappedKeys> {
  if (of.given !== undefined) return keysOf(of.given);
  const live = of.origin === undefined ? null : liveKeys(of.origin, of.masterKey);
  if (live) return live;
  const beside = join(of.directory, keysFileOf(deploymentOf(of.masterKey)));
  return existsSync(beside) ? keysOf(beside) : new Map();
}

/** Null where there is no such deployment any more, or it cannot be read, which is said. */
function liveKeys(dataDir: string, masterKey: Buffer): WrappedKeys | null {
  const database = join(dataDir, 'database', 'database.sqlite');
  if (!existsSync(database)) return null;
  try {
    return masterKeyIn(join(dataDir, 'credentials.json')).equals(masterKey) ? keysIn(database) : null;
  } catch (error) {
    console.error(`The keys of sessions in ${dataDir} cannot be read (${(error as Error).message}): those beside the backup are taken`);
    return null;
  }
}

async function keysOf(file: string): Promise<WrappedKeys> {
  return new Map(
    (await linesOf(file)).flatMap(({ session_id, wrapped_key }) => (wrapped_key === null ? [] : [[session_id, Buffer.from(wrapped_key, 'base64')]])),
  );
}

async function linesOf(file: string): Promise<z.output<typeof keyLine>[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
  const parsed = lines.map((line) => parseJson(keyLine, line));
  if (parsed.includes(null)) throw new CommandError(`${file} holds no keys of sessions: name the file \`parley backup\` wrote (${KEYS_FILE})`);
  return parsed.flatMap((line) => line ?? []);
}

function keysFileOf(deployment: string): string {
  return KEYS_FILE.replace('<deployment>', deployment);
}
