/**
 * The page of call files as built by `npm run prepare`: one HTML text with its script and styles inside, and
 * a mark where the parts of a call go.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { shellDigest } from '#protocol/call-file.ts';

const FILE = join(import.meta.dirname, '../../../web/dist/call-file.html');
const MARK = '<!--call-->\n';

/** The page around the parts of a call. */
export interface CallPage {
  readonly before: string;
  readonly after: string;
  readonly digest: string;
}

let loaded: Promise<CallPage | null> | null = null;

/** The page; null if it is not built. It is read once. */
export async function callPage(): Promise<CallPage | null> {
  loaded ??= load();
  const page = await loaded;
  if (page === null) loaded = null;
  return page;
}

async function load(): Promise<CallPage | null> {
  const text = await readFile(FILE, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  const at = text?.indexOf(MARK) ?? -1;
  if (text === null || at < 0) return null;
  const [before, after] = [text.slice(0, at), text.slice(at + MARK.length)];
  return { before, after, digest: await shellDigest(before, after) };
}
