/** `npm test`: runs every vitest file and closes with one line for the whole run, `N passed, N failed, N skipped`; skipped tests are listed by name. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly success: boolean;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

const scratch = mkdtempSync(join(tmpdir(), 'parley-test-'));
const reportFile = join(scratch, 'report.json');
const vitest = join(import.meta.dirname, '..', 'node_modules', 'vitest', 'vitest.mjs');
const child = spawn(
  process.execPath,
  [vitest, 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`, ...process.argv.slice(2)],
  { stdio: 'inherit' },
);
child.on('exit', (code) => {
  const report = read();
  rmSync(scratch, { recursive: true, force: true });
  if (!report) {
    console.log('0 passed, 1 failed');
    process.exit(code || 1);
  }
  const skipped = report.testResults.flatMap((file) =>
    file.assertionResults.filter((test) => ['pending', 'skipped', 'todo'].includes(test.status)).map((test) => test.fullName),
  );
  for (const name of skipped) console.log(`skipped: ${name}`);
  // A file that could not even be loaded has no tests of its own: it counts as one failure.
  const brokenFiles = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  ).length;
  // An error outside of any test (an unhandled rejection, say) ends the run with a status and no failed test.
  const failed = Math.max(report.numFailedTests + brokenFiles, code === 0 ? 0 : 1);
  console.log(`${report.numPassedTests} passed, ${failed} failed, ${skipped.length} skipped`);
  process.exit(failed > 0 ? 1 : 0);
});

function read(): Report | null {
  try {
    return JSON.parse(readFileSync(reportFile, 'utf8')) as Report;
  } catch {
    return null;
  }
}
