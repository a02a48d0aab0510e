/** Validated arguments of commands: a number within bounds, a readable file. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { CommandError } from './api.ts';
import { printable } from './output.ts';

/** Creates a parser for an integer option. */
export function countUpTo(most: number): (text: string) => number {
  return (text) => {
    if (/^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= most) return Number(text);
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${most}.`);
  };
}

/** Maximum size of a file that is read at once, bytes. */
const MAX_FILE_BYTES = 64 * 1_048_576;

/** Reads a file of at most so many bytes. Throws `CommandError`. */
export function readGiven(file: string, mostBytes = MAX_FILE_BYTES): Buffer {
  try {
    if (statSync(file).size > mostBytes) throw new Error(`it has more than ${mostBytes / 1_048_576} MiB`);
    return readFileSync(file);
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${why(error)}`);
  }
}

/** Parses a file of JSON of at most so many bytes. Throws `CommandError`. */
export function readGivenJson(file: string, mostBytes = MAX_FILE_BYTES): unknown {
  const text = readGiven(file, mostBytes).toString('utf8');
  try {
    return JSON.parse(text);
  } catch (error) {
    // The error quotes the file.
    throw new CommandError(printable(`${file} is not JSON: ${(error as Error).message}`));
  }
}

/** Writes a file named by the user. Throws `CommandError`. */
export function writeNamed(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new CommandError(`${file} cannot be written: ${why(error)}`);
  }
}

/**
 * Removes the path from `ENOENT: no such file or directory, open 'x'`, because the message already names it.
 */
function why(error: unknown): string {
  return (error as Error).message.replace(/^[A-Z]+: ([^,]*),.*$/s, '$1');
}
