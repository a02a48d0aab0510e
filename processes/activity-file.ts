/**
 * What a process is doing, readable by the supervisor that may have to kill it: an unnamed file that both
 * have open, in memory if the system supports that. A process writes a line before it starts something. A
 * hung process cannot be asked, but its last line remains. If the file is in memory, it also notes its signs
 * of life there, which costs less than a message and does not wake the supervisor.
 */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type FastFolder, fastFolders } from '#base/platform.ts';

/** File descriptor of the file in a supervised process: the one after its channel to the supervisor. */
const ACTIVITY_FD = 4;
/** Set for processes that have the file, to where it is; in others the descriptor may be anything. */
const GIVEN = 'PARLEY_DOING';
const LINE_BYTES = 256;
/** After the line: the time of the last sign of life, ms of the machine's monotonic clock. */
const ALIVE_AT = LINE_BYTES;
const ALIVE_BYTES = Float64Array.BYTES_PER_ELEMENT;

/** The file of a process, as the supervisor has it. */
export interface ActivityFile {
  readonly fd: number;
  /** Otherwise writing may wait for a disk. */
  readonly isInMemory: boolean;
}

/** Environment of a process with or without such a file. */
export function activityEnvironment(file: ActivityFile | null): Readonly<Record<string, string>> {
  return { [GIVEN]: file === null ? '' : file.isInMemory ? 'memory' : 'disk' };
}

/** The descriptor this process writes to; null if it has none. */
export function activityDescriptor(environment: NodeJS.ProcessEnv): number | null {
  const given = environment[GIVEN];
  return given === 'memory' || given === 'disk' ? ACTIVITY_FD : null;
}

/**
 * The descriptor to which this process notes its signs of life; null if it has none, or would write to a disk
 * twice a second, for which its event loop might wait.
 */
export function aliveDescriptor(environment: NodeJS.ProcessEnv): number | null {
  return environment[GIVEN] === 'memory' ? ACTIVITY_FD : null;
}

/** Opens the file for a process about to be started; null if there is no suitable directory. */
export function openActivityFile(folders: readonly FastFolder[] = fastFolders()): ActivityFile | null {
  for (const { path, isInMemory } of folders) {
    try {
      const directory = mkdtempSync(join(path, 'parley-doing-'));
      const fd = openSync(join(directory, 'line'), 'w+', 0o600);
      rmSync(directory, { recursive: true });
      return { fd, isInMemory };
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

/**
 * Notes a sign of life of this time, ms. False if `fd` is null or cannot be written to: the supervisor must
 * be told otherwise.
 */
export function noteAlive(fd: number | null, nowMs: number): boolean {
  if (fd === null) return false;
  try {
    return writeSync(fd, new Float64Array([nowMs]), 0, ALIVE_BYTES, ALIVE_AT) === ALIVE_BYTES;
  } catch {
    return false;
  }
}

/** Reads the time of the last sign of life; null if none was noted. */
export function readAlive(fd: number): number | null {
  const noted = new Float64Array(1);
  try {
    return readSync(fd, noted, 0, ALIVE_BYTES, ALIVE_AT) === ALIVE_BYTES ? (noted[0] ?? null) : null;
  } catch {
    return null;
  }
}
