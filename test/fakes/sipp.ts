/** Runs sipp, the SIP tester, with a scenario of `test/telephony/scenarios` against a server on the loopback. */
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SCENARIOS = join(import.meta.dirname, '..', 'telephony', 'scenarios');

/** How sipp ended: 0 is success of every call; the screen says what went wrong otherwise. */
export interface SippResult {
  readonly code: number | null;
  readonly screen: string;
}

/** Runs one scenario; `options` are more of sipp's own. It is ended after `deadlineMs`. */
export async function runSipp(scenario: string, serverPort: number, options: readonly string[] = [], deadlineMs = 20_000): Promise<SippResult> {
  const scratch = mkdtempSync(join(tmpdir(), 'parley-sipp-'));
  const port = await freePort();
  const common = ['-i', '127.0.0.1', '-p', String(port), '-s', '+15550100', '-nostdin', '-nd', '-trace_err', '-error_file', 'errors'];
  const child = spawn('sipp', ['-sf', join(SCENARIOS, `${scenario}.xml`), `127.0.0.1:${serverPort}`, ...common, ...options], { cwd: scratch });
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

async function freePort(): Promise<number> {
  const socket = createSocket('udp4');
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  await new Promise<void>((resolve) => socket.close(resolve));
  return port;
}
