/**
 * What a process is doing, kept where whoever has to kill it can read it: a file without a name that both have open.
 * A process writes a line before it starts something; one that stands still cannot be asked any more, but its last line is there.
 */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where a supervised process finds the file: the descriptor after its channel to the supervisor. */
export const DOING_FD = 4;
const LINE_BYTES = 256;

/** Opens the file for a process that is about to be started; null where there is nowhere to put it. */
export function openDoing(): number | null {
  try {
    const directory = mkdtempSync(join(tmpdir(), 'parley-doing-'));
    const fd = openSync(join(directory, 'line'), 'w+', 0o600);
    rmSync(directory, { recursive: true });
    return fd;
  } catch {
    return null;
  }
}

/** Reads what was written last; null where nothing was. */
export function readDoing(fd: number): string | null {
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
export function closeDoing(fd: number): void {
  closeSync(fd);
}

/** What a part tells with: `fd` is null where nobody reads. A write of one page to a file in memory takes microseconds. */
export function tellDoing(fd: number | null): (what: string) => void {
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
