/**
 * Installs a model below `DATA_DIR/models`. Its files are downloaded aside, verified, loaded once and
 * measured; then the whole directory gets its place with one rename. However the process ends, there is
 * either no model in that place or a complete one, and what arrived is resumed.
 */
import { mkdir, readdir, rename, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#base/clock.ts';
import { tryLock } from '#base/data-dir-lock.ts';
import { messageOf } from '#base/message-of.ts';
import { downloadFile, lengthOf, namesOf, sha256Of } from './download-file.ts';
import { isComplete, modelsDirectory, readSpeed, speedFile } from './installed-models.ts';
import { measureModel } from './measure-model.ts';
import { fullDiskOf, ModelError } from './model-error.ts';
import { addressOf, bytesOf, type SpeechModel } from './model-table.ts';

/** Usual pause before the first retry. */
export const RETRY_AFTER_MS = 1_000;
/** Space that a download leaves free, bytes. */
const RESERVE_BYTES = 64 * 2 ** 20;
const ASIDE = '.partial';

/** Options of an installation. */
export interface InstallOptions {
  readonly dataDir: string;
  /** Base address of the models' paths. */
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Bytes of the model that are here. */
  readonly onBytes: (present: number) => void;
  /** Everything is here and being verified, loaded and measured. */
  readonly onChecking: () => void;
  /** Pause before the first retry, ms. */
  readonly retryAfterMs: number;
}

/**
 * Downloads, verifies and measures a model, or only verifies and measures what is in its place. Wrong files
 * there are removed and downloaded. Throws `ModelError`, or the signal's reason.
 */
export async function installModel(model: SpeechModel, options: InstallOptions): Promise<void> {
  const { dataDir, signal } = options;
  const aside = join(modelsDirectory(dataDir), ASIDE);
  await mkdir(aside, { recursive: true });
  const lock = tryLock(join(aside, `${model.id}.lock`));
  if (!lock) throw new ModelError('busy', `${model.id} is already being downloaded by another program`);
  try {
    signal.throwIfAborted();
    if (isComplete(dataDir, model) && (await isGenuine(model, options))) await measureInPlace(model, options);
    else await download(model, join(aside, model.id), options);
  } catch (error) {
    throw fullDiskOf(error);
  } finally {
    lock.release();
  }
}

/** Bytes of an unfinished download. */
export async function bytesAside(dataDir: string, { id, files }: SpeechModel): Promise<number> {
  const sizes = files.map(({ name }) => lengthOf(join(modelsDirectory(dataDir), ASIDE, id, name)));
  return (await Promise.all(sizes)).reduce((sum, bytes) => sum + bytes, 0);
}

/** The sentence for people who have no network here, or a site that lacks the model. */
function howToInstall(model: SpeechModel, { dataDir, baseUrl }: InstallOptions): string {
  const names = model.files.map(({ name }) => name).join(', ');
  return (
    `Download ${names} on another machine from ${baseUrl}/${model.path}/ and put them into ` +
    `${join(modelsDirectory(dataDir), model.id)} (copy to a folder whose name starts with a dot, then ` +
    'rename it), or set MODELS_URL to a mirror that can be reached'
  );
}

/** False once a wrong file has been removed, so that no call uses the model and its download can begin. */
async function isGenuine(model: SpeechModel, { dataDir, signal, onBytes }: InstallOptions): Promise<boolean> {
  onBytes(bytesOf(model));
  const place = join(modelsDirectory(dataDir), model.id);
  let isGenuine = true;
  for (const { name, sha256 } of model.files) {
    if ((await sha256Of(join(place, name), signal)) === sha256) continue;
    await rm(join(place, name));
    isGenuine = false;
  }
  return isGenuine;
}

async function measureInPlace(model: SpeechModel, { dataDir, clock, signal, onChecking }: InstallOptions) {
  onChecking();
  const place = join(modelsDirectory(dataDir), model.id);
  if (readSpeed(dataDir, model.id) !== null) return;
  const { name, text } = speedFile(await measure(model, place, { clock, signal }));
  await writeFile(join(place, name), text);
}

/** Measures a model. A recogniser that cannot follow a caller must not replace one that can. */
async function measure(
  model: SpeechModel,
  directory: string,
  measuring: Pick<InstallOptions, 'clock' | 'signal'>,
): Promise<number> {
  const factor = await measureModel(model, directory, measuring);
  if (model.kind === 'recogniser' && factor > 1)
    throw new ModelError(
      'too_slow',
      `${model.id} takes ${factor} s for a second of speech on this machine, too long to follow a caller. ` +
        'Choose a smaller model, or start it again when the machine is less busy',
    );
  return factor;
}

async function download(model: SpeechModel, aside: string, options: InstallOptions): Promise<void> {
  const { dataDir, baseUrl, clock, signal, onBytes, onChecking, retryAfterMs } = options;
  await mkdir(aside, { recursive: true });
  await removeStrangers(model, aside);
  await needSpace(model, options);
  let before = 0;
  for (const file of model.files) {
    await downloadFile(file, {
      url: addressOf(baseUrl, model, file),
      path: join(aside, file.name),
      onBytes: (present) => onBytes(before + present),
      needSpace: () => needSpace(model, options),
      signal,
      clock,
      retryAfterMs,
    }).catch((error: unknown) => {
      throw explain(error, model, options);
    });
    before += file.bytes;
  }
  onBytes(before);
  onChecking();
  const { name, text } = speedFile(await measure(model, aside, { clock, signal }));
  await writeFile(join(aside, name), text);
  signal.throwIfAborted();
  const place = join(modelsDirectory(dataDir), model.id);
  // An incomplete directory, such as of a copy by hand that was broken off.
  await rm(place, { recursive: true, force: true });
  await rename(aside, place);
}

/** Removes files that would get into the model's place unverified, such as those of an earlier version. */
async function removeStrangers({ files }: SpeechModel, aside: string): Promise<void> {
  const own = new Set(files.flatMap(namesOf));
  for (const name of await readdir(aside))
    if (!own.has(name)) await rm(join(aside, name), { recursive: true, force: true });
}

function explain(error: unknown, model: SpeechModel, options: InstallOptions): unknown {
  if (options.signal.aborted) return options.signal.reason;
  if (!(error instanceof ModelError)) {
    const message = `The download broke off (${messageOf(error)}). Start it again to resume`;
    return new ModelError('offline', message, { cause: error });
  }
  return error.failure === 'offline' || error.failure === 'refused'
    ? new ModelError(error.failure, `${error.message}. ${howToInstall(model, options)}`, { cause: error })
    : error;
}

async function needSpace(model: SpeechModel, { dataDir }: InstallOptions): Promise<void> {
  const { bavail, bsize } = await statfs(dataDir);
  const needed = bytesOf(model) - (await bytesAside(dataDir, model)) + RESERVE_BYTES;
  const free = bavail * bsize;
  if (free >= needed) return;
  const mebibytes = (bytes: number) => `${Math.ceil(bytes / 2 ** 20)} MiB`;
  throw new ModelError(
    'no_space',
    `The disk of ${dataDir} has ${mebibytes(free)} free, and ${model.id} needs ${mebibytes(needed)}`,
  );
}
