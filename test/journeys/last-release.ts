/**
 * The last release, taken from the history of this repository, with today's packages. A shallow clone does
 * not have it.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
/** The commit of the last release; a release replaces it. */
const COMMIT = 'fd2215d8';
const MOST_BYTES = 1_000_000_000;

/** What a shallow clone lacks. */
export const LAST_RELEASE = `the commit of the last release, ${COMMIT}: a clone with its history`;

/** Whether this clone has the last release. */
export function hasLastRelease(): boolean {
  return spawnSync('git', ['cat-file', '-e', `${COMMIT}^{commit}`], { cwd: ROOT }).status === 0;
}

/** Unpacks the last release into a new folder, and returns its path. */
export function unpackLastRelease(): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-last-release-'));
  const archive = execFileSync('git', ['archive', COMMIT], { cwd: ROOT, maxBuffer: MOST_BYTES });
  execFileSync('tar', ['x', '-C', folder], { input: archive });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}
