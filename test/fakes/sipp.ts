/**
 * Runs sipp, the SIP tester, against a server on the loopback, with a scenario from
 * `test/telephony/scenarios` or one given step by step.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freeSipPort } from '#test/free-port.ts';

const SCENARIOS = join(import.meta.dirname, '..', 'telephony', 'scenarios');

/** Result of a sipp run: status 0 means that every call succeeded; otherwise the screen shows the error. */
export interface SippResult {
  readonly code: number | null;
  readonly screen: string;
}

/** Runs one scenario; `options` are additional sipp options. Kills sipp after `deadlineMs`. */
export function runSipp(
  scenario: string,
  serverPort: number,
  options: readonly string[] = [],
  deadlineMs = 20_000,
): Promise<SippResult> {
  return run({
    file: join(SCENARIOS, `${scenario}.xml`),
    scratch: newScratch(),
    serverPort,
    options,
    deadlineMs,
  });
}

/** Runs one call of a scenario given as the XML of its steps. */
export function runSippSteps(
  steps: readonly string[],
  serverPort: number,
  options: readonly string[] = [],
): Promise<SippResult> {
  const scratch = newScratch();
  const file = join(scratch, 'steps.xml');
  const assigned = new Set([...steps.join('').matchAll(/assign_to="(\w+)"/g)].map(([, name]) => name));
  const reference = assigned.size > 0 ? `<Reference variables="${[...assigned].join()}"/>` : '';
  writeFileSync(
    file,
    '<?xml version="1.0" encoding="UTF-8" ?>\n<scenario ' +
      `name="steps">\n${steps.join('\n')}\n${reference}\n</scenario>\n`,
  );
  return run({ file, scratch, serverPort, options: ['-m', '1', ...options], deadlineMs: 60_000 });
}

function newScratch(): string {
  return mkdtempSync(join(tmpdir(), 'parley-sipp-'));
}

async function run({
  file,
  scratch,
  serverPort,
  options,
  deadlineMs,
}: {
  readonly file: string;
  readonly scratch: string;
  readonly serverPort: number;
  readonly options: readonly string[];
  readonly deadlineMs: number;
}): Promise<SippResult> {
  const port = await freeSipPort();
  const common = [
    '-i',
    '127.0.0.1',
    '-p',
    String(port),
    '-s',
    '+15550100',
    '-nostdin',
    '-nd',
    '-trace_err',
    '-error_file',
    'errors',
  ];
  const child = spawn('sipp', ['-sf', file, `127.0.0.1:${serverPort}`, ...common, ...options], {
    cwd: scratch,
  });
  let screen = '';
  child.stdout.on('data', (chunk) => (screen += String(chunk)));
  child.stderr.on('data', (chunk) => (screen += String(chunk)));
  const deadline = setTimeout(() => child.kill('SIGKILL'), deadlineMs);
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    return { code, screen: screen.slice(-4_000) };
  } finally {
    clearTimeout(deadline);
    rmSync(scratch, { recursive: true, force: true });
  }
}
