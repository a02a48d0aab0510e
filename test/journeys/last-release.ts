/**
 * The last release, taken from the history of this repository, with today's packages. A shallow clone does
 * not have it.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
/** The commit of the last release; a release replaces it, and `test/protocol/last-release` by its script. */
const COMMIT = 'fd2215d8';
const MOST_BYTES = 1_000_000_000;

/** Why the last release cannot be had here; null if it can. */
export function lastReleaseObstacle(): string | null {
  const { status } = spawnSync('git', ['cat-file', '-e', `${COMMIT}^{commit}`], { cwd: ROOT });
  return status === 0 ? null : `the commit of the last release, ${COMMIT}, is not in this clone`;
}

/** Unpacks the last release into a new folder, and returns its path. */
export function unpackLastRelease(): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-last-release-'));
  const archive = execFileSync('git', ['archive', COMMIT], { cwd: ROOT, maxBuffer: MOST_BYTES });
  execFileSync('tar', ['x', '-C', folder], { input: archive });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}
