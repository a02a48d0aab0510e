/** Reads tests by voice: files of JSON, and folders of them. */
import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { type VoiceTest, voiceTest } from '#protocol/voice-test.ts';
import { CommandError } from './api.ts';
import { readGivenJson } from './arguments.ts';
import { printable } from './output.ts';

const MOST_FILE_BYTES = 1_048_576;
const MOST_FILES = 500;

/** A test and its file. */
export interface VoiceTestInFile {
  readonly file: string;
  readonly test: VoiceTest;
}

/** Reads all of them, folders in the order of their names. Throws `CommandError`. */
export function readVoiceTests(paths: readonly string[]): VoiceTestInFile[] {
  const files = paths.flatMap(filesIn);
  if (files.length === 0) throw new CommandError(`${paths.join(', ')} contains no file ending in .json`);
  if (files.length > MOST_FILES) throw new CommandError(`at most ${MOST_FILES} tests can be run at once`);
  return files.map((file) => ({ file, test: readVoiceTest(file) }));
}

function filesIn(path: string): string[] {
  let isFolder = false;
  try {
    isFolder = statSync(path).isDirectory();
  } catch {
    // Reading it says what is wrong.
  }
  if (!isFolder) return [path];
  return readdirSync(path)
    .filter((name) => name.endsWith('.json') && basename(name)[0] !== '.')
    .sort()
    .map((name) => join(path, name));
}

function readVoiceTest(file: string): VoiceTest {
  const parsed = voiceTest.safeParse(readGivenJson(file, MOST_FILE_BYTES));
  if (!parsed.success)
    throw new CommandError(
      [`${file} is no test by voice:`, ...z.prettifyError(parsed.error).split('\n')]
        .map(printable)
        .join('\n'),
    );
  return parsed.data;
}
