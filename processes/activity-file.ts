/**
 * What a process is doing, kept where whoever has to kill it can read it: a file without a name that both
 * have open, in memory where the system has such a place. A process writes a line before it starts something;
 * one that stands still cannot be asked any more, but its last line is there.
 */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where a supervised process finds the file: the descriptor after its channel to the supervisor. */
const DOING_FD = 4;
/** Set for processes that are given the file; for any other the descriptor may be anything. */
const GIVEN = 'PARLEY_DOING';
/**
 * Files in memory on Linux; what is temporary elsewhere may be on a disk, which would hold up whoever writes.
 */
const MEMORY = '/dev/shm';
const LINE_BYTES = 256;

/** Environment of a process that gets this descriptor, or none. */
export function activityEnvironment(fd: number | null): Readonly<Record<string, string>> {
  return { [GIVEN]: fd === null ? '' : '1' };
}

/** The descriptor a process was given to tell with; null where it was given none. */
export function activityDescriptor(environment: NodeJS.ProcessEnv): number | null {
  return environment[GIVEN] === '1' ? DOING_FD : null;
}

/** Opens the file for a process that is about to be started; null where there is nowhere to put it. */
export function openActivityFile(): number | null {
  for (const place of [MEMORY, tmpdir()]) {
    try {
      const directory = mkdtempSync(join(place, 'parley-doing-'));
      const fd = openSync(join(directory, 'line'), 'w+', 0o600);
      rmSync(directory, { recursive: true });
      return fd;
    } catch {
      // There is no such place, or none to write to.
    }
  }
  return null;
}

/** Reads what was written last; null where nothing was. */
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

/** The session a worker's last line names; null where it names none. */
export function sessionIn(line: string): string | null {
  return /^session (\S+)/.exec(line)?.[1] ?? null;
}

/** Closes the file. */
export function closeActivityFile(fd: number): void {
  closeSync(fd);
}

/** What a part tells with: `fd` is null where nobody reads. A write of one page takes microseconds. */
export function activityWriter(fd: number | null): (what: string) => void {
  if (fd === null) return () => undefined;
  const line = Buffer.alloc(LINE_BYTES);
  return (what) => {
    line.fill(0, line.write(what, 0, LINE_BYTES, 'utf8'));
    try {
      writeSync(fd, line, 0, LINE_BYTES, 0);
    } catch {
      // Nobody is told then; the work goes on.
    }
  };
}
