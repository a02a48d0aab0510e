/**
 * `npm test`: runs every vitest file and ends with one line for the whole run, `N passed, N failed, N
 * skipped`. Skipped tests are listed by name, and finally the failed ones with their messages. In CI, if only
 * a few files failed, they are run once more, alone: tests that then pass needed a quiet machine; they count
 * as passed and are listed by name as flaky, a fault to be found.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface FileReport {
  readonly name: string;
  readonly status: string;
  readonly assertionResults: readonly {
    readonly fullName: string;
    readonly status: string;
    readonly failureMessages?: readonly string[] | null;
  }[];
}

interface Run {
  /** Null if vitest wrote no report. */
  readonly files: readonly FileReport[] | null;
  readonly exitCode: number;
}

/** More failed files indicate a broken product, not a busy machine. */
const MOST_FILES_AGAIN = 8;
const MOST_LINES_OF_A_FAILURE = 25;

const root = join(import.meta.dirname, '..');
/**
 * Several hundred processes load the same packages, so they share one compile cache instead of the product's
 * own (main.ts).
 */
const compileCache = process.env['NODE_COMPILE_CACHE'] ?? join(root, 'node_modules', '.cache', 'parley');
const first = await runVitest(process.argv.slice(2));
const broken = (first.files ?? []).filter(isBroken);
const flaky: string[] = [];
let files = first.files;
let exitCode = first.exitCode;
if (files && process.env['CI'] === 'true' && broken.length > 0 && broken.length <= MOST_FILES_AGAIN) {
  console.log(`\nonce more, alone: ${broken.map((file) => file.name.slice(root.length + 1)).join(', ')}\n`);
  const second = await runVitest(['--maxWorkers=1', ...broken.map((file) => file.name)]);
  const again = new Map((second.files ?? []).map((file) => [file.name, file]));
  for (const file of broken)
    if (!isBroken(again.get(file.name) ?? file)) flaky.push(...namesOf(file, ['failed']), ...unnamed(file));
  files = files.map((file) => again.get(file.name) ?? file);
  exitCode = second.exitCode;
}
if (!files) {
  console.log('0 passed, 1 failed');
  process.exit(exitCode || 1);
}
const skipped = files.flatMap((file) => namesOf(file, ['pending', 'skipped', 'todo']));
for (const name of skipped) console.log(`skipped: ${name}`);
for (const name of flaky) console.log(`flaky: ${name}`);
for (const failure of files.flatMap(failuresOf)) console.log(failure);
const passed = files.flatMap((file) => namesOf(file, ['passed'])).length;
// A file that could not be loaded has no tests and counts as one failure, as does an error outside any test
// (such as an unhandled rejection).
const failures = files.flatMap((file) => [...namesOf(file, ['failed']), ...unnamed(file)]).length;
const failed = Math.max(failures, exitCode === 0 ? 0 : 1);
console.log(`${passed} passed, ${failed} failed, ${skipped.length} skipped`);
process.exit(failed > 0 ? 1 : 0);

function isBroken(file: FileReport): boolean {
  return file.status === 'failed';
}

function namesOf(file: FileReport, statuses: readonly string[]): string[] {
  return file.assertionResults.filter((test) => statuses.includes(test.status)).map((test) => test.fullName);
}

/**
 * Summary for readers of the last lines only: the failed tests, their locations, and the beginning of their
 * messages.
 */
function failuresOf(file: FileReport): string[] {
  const failed = file.assertionResults.filter((test) => test.status === 'failed');
  return failed.map(
    (test) =>
      `failed: ${test.fullName} (${file.name.slice(root.length + 1)})\n  ${said(test.failureMessages ?? [])}`,
  );
}

function said(messages: readonly string[]): string {
  return messages.join('\n').split('\n').slice(0, MOST_LINES_OF_A_FAILURE).join('\n  ');
}

/** The path of a broken file without failed tests. */
function unnamed(file: FileReport): string[] {
  return isBroken(file) && namesOf(file, ['failed']).length === 0 ? [file.name.slice(root.length + 1)] : [];
}

async function runVitest(args: readonly string[]): Promise<Run> {
  const scratch = mkdtempSync(join(tmpdir(), 'parley-test-'));
  const reportFile = join(scratch, 'report.json');
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const child = spawn(
    process.execPath,
    [vitest, 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`, ...args],
    {
      stdio: 'inherit',
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    },
  );
  const exitCode = await new Promise<number>((resolve) => child.on('exit', (code) => resolve(code ?? 1)));
  try {
    const report = JSON.parse(readFileSync(reportFile, 'utf8')) as {
      readonly testResults: readonly FileReport[];
    };
    return { files: report.testResults, exitCode };
  } catch {
    return { files: null, exitCode };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
