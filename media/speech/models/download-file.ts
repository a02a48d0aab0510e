/**
 * Downloads one file to a path of its own, and resumes where an earlier attempt stopped (RFC 9110, sections
 * 13.1.5 and 14): the file's ETag stands beside the partial file, so that a changed file starts anew. The
 * result has the right length and SHA-256, or there is none.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import pRetry from 'p-retry';
import type { Clock } from '#base/clock.ts';
import { messageOf } from '#base/message-of.ts';
import { fullDiskOf, ModelError } from './model-error.ts';
import type { ModelFile } from './model-table.ts';

const ATTEMPTS = 5;
/** Attempts to reach a site from which nothing ever came: without a network, people should not wait long. */
const ATTEMPTS_TO_CONNECT = 2;
/** A response without a byte for this long is broken off, and resumed. */
const STALLED_MS = 30_000;
const MAX_ETAG_CHARS = 256;
/** The disk's free space is checked after this many bytes: other programs write to it, too. */
const CHECK_SPACE_BYTES = 4 * 2 ** 20;

/** Options of a download. */
export interface FileDownload {
  readonly url: string;
  /** Destination; holds the partial file until it is complete. */
  readonly path: string;
  /** Called with the bytes present, also when they become fewer. */
  readonly onBytes: (present: number) => void;
  /** Throws `ModelError` if the disk lacks space for the rest. */
  readonly needSpace: () => Promise<void>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Pause before the first retry, ms; each further pause is twice as long. */
  readonly retryAfterMs: number;
}

/**
 * Downloads what is missing. Throws `ModelError`, the signal's reason, or the last network error; what
 * arrived remains and is resumed next time, unless its SHA-256 is wrong.
 */
export async function downloadFile(file: ModelFile, download: FileDownload): Promise<void> {
  const { path, url, signal, retryAfterMs } = download;
  let hasConnected = false;
  const attempt = async () => {
    try {
      await fetchRest(file, { ...download, onConnected: () => (hasConnected = true) });
    } catch (error) {
      throw fullDiskOf(error);
    }
  };
  await pRetry(attempt, {
    retries: ATTEMPTS - 1,
    minTimeout: retryAfterMs,
    signal,
    shouldRetry: ({ error, attemptNumber }) =>
      !(error instanceof ModelError) &&
      !signal.aborted &&
      (hasConnected || attemptNumber < ATTEMPTS_TO_CONNECT),
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    if (error instanceof ModelError || hasConnected) throw error;
    throw new ModelError('offline', `${new URL(url).host} cannot be reached (${messageOf(error)})`, {
      cause: error,
    });
  });
  if ((await sha256Of(path, signal)) === file.sha256) {
    await rm(etagPath(path), { force: true });
    return;
  }
  await removePart(path);
  throw new ModelError('corrupt', `${url} is not the expected file (its SHA-256 differs), and was removed`);
}

/** SHA-256 of a file in hexadecimal; null if it cannot be read. Throws the signal's reason. */
export async function sha256Of(path: string, signal: AbortSignal): Promise<string | null> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(path), hash, { signal });
  } catch {
    signal.throwIfAborted();
    return null;
  }
  return hash.digest('hex');
}

/** Length of a file, bytes; 0 if it does not exist. */
export async function lengthOf(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.size ?? 0;
}

async function fetchRest(
  file: ModelFile,
  download: FileDownload & { readonly onConnected: () => void },
): Promise<void> {
  const { url, path, onBytes, needSpace, signal, clock, onConnected } = download;
  let present = await lengthOf(path);
  if (present > file.bytes) {
    await removePart(path);
    present = 0;
  }
  onBytes(present);
  if (present === file.bytes) return;
  const watch = watchStall(clock, signal);
  try {
    const response = await fetch(url, {
      headers: { 'accept-encoding': 'identity', ...(present > 0 ? await rangeFrom(path, present) : {}) },
      signal: watch.signal,
    });
    onConnected();
    const continues = await checkResponse(response, { file, url, path, present });
    const from = continues ? present : 0;
    await writeBody(response, { file, url, path, present: from, onBytes, needSpace, watch });
  } finally {
    watch.end();
  }
}

/** The headers that ask for the rest, if the file is still the one whose beginning is here. */
async function rangeFrom(path: string, present: number): Promise<Record<string, string>> {
  const etag = await readFile(etagPath(path), 'latin1').catch(() => '');
  return { range: `bytes=${present}-`, ...(etag === '' ? {} : { 'if-range': etag }) };
}

interface Expected {
  readonly file: ModelFile;
  readonly url: string;
  readonly path: string;
  readonly present: number;
}

/** True if the response continues the part that is here, false if it is the whole file. Throws otherwise. */
async function checkResponse(response: Response, { file, url, path, present }: Expected): Promise<boolean> {
  const { status, headers } = response;
  if (status === 206 && headers.get('content-range') === rangeOf(present, file.bytes)) return true;
  if (status === 200) {
    const etag = headers.get('etag') ?? '';
    await removePart(path);
    // Only a strong ETag identifies bytes (RFC 9110, section 8.8.1).
    if (/^"[^"]*"$/.test(etag) && etag.length <= MAX_ETAG_CHARS)
      await writeFile(etagPath(path), etag, 'latin1');
    return false;
  }
  await response.body?.cancel();
  if (status === 206 || status === 416) {
    await removePart(path);
    throw new Error(`${url} answered another range than bytes ${present} to ${file.bytes - 1}`);
  }
  const message = `${url} answered HTTP ${status}`;
  throw status >= 500 || status === 429 || status === 408
    ? new Error(message)
    : new ModelError('refused', message);
}

function rangeOf(from: number, length: number): string {
  return `bytes ${from}-${length - 1}/${length}`;
}

async function writeBody(
  response: Response,
  {
    file,
    url,
    path,
    present,
    onBytes,
    needSpace,
    watch,
  }: Expected & Pick<FileDownload, 'onBytes' | 'needSpace'> & { watch: StallWatch },
): Promise<void> {
  let here = present;
  let checkedAt = present;
  const out = await open(path, present > 0 ? 'a' : 'w');
  try {
    for await (const chunk of response.body ?? []) {
      watch.arrived();
      here += chunk.length;
      if (here > file.bytes) break;
      if (here - checkedAt >= CHECK_SPACE_BYTES) {
        await needSpace();
        checkedAt = here;
      }
      await out.writeFile(chunk);
      onBytes(here);
    }
    await out.sync();
  } finally {
    await out.close();
  }
  if (here > file.bytes) {
    await removePart(path);
    throw new ModelError('corrupt', `${url} is longer than ${file.bytes} bytes`);
  }
  if (here < file.bytes) throw new Error(`${url} ended after ${here} of ${file.bytes} bytes`);
}

interface StallWatch {
  /** Aborted by the caller's signal, or when nothing has arrived for too long. */
  readonly signal: AbortSignal;
  arrived(): void;
  end(): void;
}

function watchStall(clock: Clock, signal: AbortSignal): StallWatch {
  const stall = new AbortController();
  const start = () =>
    clock.after(STALLED_MS, () => stall.abort(new Error(`nothing arrived for ${STALLED_MS / 1_000} s`)));
  let timer = start();
  return {
    signal: AbortSignal.any([signal, stall.signal]),
    arrived() {
      timer.cancel();
      timer = start();
    },
    end: () => timer.cancel(),
  };
}

async function removePart(path: string): Promise<void> {
  await rm(path, { force: true });
  await rm(etagPath(path), { force: true });
}

/** Names of a file and of what a download keeps beside it. */
export function namesOf({ name }: ModelFile): string[] {
  return [name, etagPath(name)];
}

function etagPath(path: string): string {
  return `${path}.etag`;
}
