/**
 * Programs that leave nothing behind: they run in namespaces of their own for processes and mounts. The
 * kernel ends them all, and their mounts, when the enclosure is closed or the test's process dies.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { RunningProgram } from '../journeys/program.ts';

const execute = promisify(execFile);
const MOST_OUTPUT_BYTES = 64 * 1_048_576;
/**
 * In memory, tens of thousands of small files are written and deleted in a fraction of the time. On a disk
 * that is mounted with `discard`, deleting them takes minutes.
 */
const MEMORY_BYTES = 4e9;
/** Options of `unshare`. */
export const NAMESPACES = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
/** Ends at the end of its input, which is this process's at the latest. */
const HOLD = 'if [ "$2" != 0 ]; then mount -t tmpfs -o "size=$2" tmpfs "$1"; fi; echo open; exec cat';

export interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

export interface Enclosure {
  /** For the files of the programs; only they see it. */
  readonly folder: string;
  /** Runs a program to its end; throws if it fails. */
  run(...command: readonly string[]): Promise<Output>;
  start(...command: readonly string[]): RunningProgram;
  close(): Promise<void>;
}

/** Opens an enclosure whose programs have this environment besides that of the test. */
export async function openEnclosure(environment: Readonly<Record<string, string>>): Promise<Enclosure> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-enclosure-'));
  const env = { ...process.env, ...environment, TMPDIR: folder };
  const memoryBytes = freemem() > 2 * MEMORY_BYTES ? MEMORY_BYTES : 0;
  const holder = spawn('unshare', [...NAMESPACES, 'sh', '-c', HOLD, 'sh', folder, String(memoryBytes)]);
  const ended = once(holder, 'close');
  await Promise.race([once(holder.stdout, 'data'), ended]);
  if (holder.exitCode !== null) throw new Error('no namespaces for processes and mounts here');
  const enter = [
    'nsenter',
    `--mount=/proc/${holder.pid}/ns/mnt`,
    `--pid=/proc/${holder.pid}/ns/pid_for_children`,
    '--',
  ];
  return {
    folder,
    run: async (...command) => {
      const options = { env, maxBuffer: MOST_OUTPUT_BYTES };
      // A build uses every processor, and other tests are timed.
      const { stdout, stderr } = await execute('nice', ['-n', '19', ...enter, ...command], options);
      return { stdout: stdout.trim(), stderr };
    },
    start: (...command) => new RunningProgram([...enter, ...command], { cwd: tmpdir(), env }),
    close: async () => {
      holder.stdin.end();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
