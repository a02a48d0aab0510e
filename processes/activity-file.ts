/**
 * What a process is doing, readable by the supervisor that may have to kill it: an unnamed file that both
 * have open, in memory if the system supports that. A process writes a line before it starts something. A
 * hung process cannot be asked, but its last line remains.
 */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fastFolders } from '#base/platform.ts';

/** File descriptor of the file in a supervised process: the one after its channel to the supervisor. */
const ACTIVITY_FD = 4;
/** Set for processes that have the file; in others the descriptor may be anything. */
const GIVEN = 'PARLEY_DOING';
const LINE_BYTES = 256;

/** Environment of a process with or without this descriptor. */
export function activityEnvironment(fd: number | null): Readonly<Record<string, string>> {
  return { [GIVEN]: fd === null ? '' : '1' };
}

/** The descriptor this process writes to; null if it has none. */
export function activityDescriptor(environment: NodeJS.ProcessEnv): number | null {
  return environment[GIVEN] === '1' ? ACTIVITY_FD : null;
}

/** Opens the file for a process about to be started; null if there is no suitable directory. */
export function openActivityFile(): number | null {
  for (const place of fastFolders()) {
    try {
      const directory = mkdtempSync(join(place, 'parley-doing-'));
      const fd = openSync(join(directory, 'line'), 'w+', 0o600);
      rmSync(directory, { recursive: true });
      return fd;
    } catch {
      // No such directory, or not writable.
    }
  }
  return null;
}

/** Reads the last line; null if there is none. */
export function readActivity(fd: number): string | null {
  const line = Buffer.alloc(LINE_BYTES);
  try {
    readSync(fd, line, 0, LINE_BYTES, 0);
  } catch {
    return null;
  }
  const text = line
    .toString('utf8')
    .replace(/[^ -~]+/g, ' ')
    .trim();
  return text === '' ? null : text;
}

/** The session named in a worker's last line; null if there is none. */
export function sessionIn(line: string): string | null {
  return /^session (\S+)/.exec(line)?.[1] ?? null;
}

/** Closes the file. */
export function closeActivityFile(fd: number): void {
  closeSync(fd);
}

/**
 * Writes what this process is doing; does nothing if `fd` is null. A write of one page takes microseconds.
 */
export function activityWriter(fd: number | null): (what: string) => void {
  if (fd === null) return () => undefined;
  const line = Buffer.alloc(LINE_BYTES);
  return (what) => {
    line.fill(0, line.write(what, 0, LINE_BYTES, 'utf8'));
    try {
      writeSync(fd, line, 0, LINE_BYTES, 0);
    } catch {
      // There is no reader; the work continues.
    }
  };
}
