/**
 * Runs the agent of `livekit-agent/` in production mode, as the framework's documentation describes. Explicit
 * dispatch sends it to each room.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AccessToken, AgentDispatchClient } from 'livekit-server-sdk';
import { processTree } from '#test/journeys/process-tree.ts';
import { startEngines } from './engines.ts';
import { GREETING, INSTRUCTIONS } from './script.ts';
import { SETTINGS, type Side } from './side.ts';

const FOLDER = join(import.meta.dirname, 'livekit-agent');
const REGISTERED_MS = 60_000;
const KEPT_MS = 20_000;

/** Installs the agent's dependencies from its lock file unless they are present. Throws if npm fails. */
export function installLivekitAgents(): void {
  if (existsSync(join(FOLDER, 'node_modules/@livekit/agents'))) return;
  console.log('installing @livekit/agents into bench/comparison/livekit-agent (about 500 MB) …');
  // The install scripts would download GPU libraries.
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: FOLDER,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error(`npm ci in ${FOLDER} ended with ${status}`);
}

/** Starts the agent and waits until it is registered with the LiveKit server. */
export async function startLivekitAgents(livekit: Readonly<Record<string, string>>): Promise<Side> {
  const engines = await startEngines();
  const histories = mkdtempSync(join(tmpdir(), 'comparison-'));
  const child = spawn(process.execPath, ['agent.ts', 'start'], {
    cwd: FOLDER,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      ...livekit,
      LOG_LEVEL: 'info',
      COMPARISON_OPENAI_URL: engines.urls.openai,
      COMPARISON_DEEPGRAM_URL: engines.urls.deepgram,
      COMPARISON_HISTORY: histories,
      COMPARISON_GREETING: GREETING,
      COMPARISON_INSTRUCTIONS: INSTRUCTIONS,
      COMPARISON_WAIT_MS: String(SETTINGS.waitMs),
      COMPARISON_MAX_WAIT_MS: String(SETTINGS.maxWaitMs),
      COMPARISON_INTERRUPT_MS: String(SETTINGS.interruptMs),
    },
  });
  await waitForRegistration(child);
  const dispatches = new AgentDispatchClient(
    (livekit['LIVEKIT_URL'] ?? '').replace(/^ws/, 'http'),
    livekit['LIVEKIT_API_KEY'],
    livekit['LIVEKIT_API_SECRET'],
  );
  const { version } = JSON.parse(
    readFileSync(join(FOLDER, 'node_modules/@livekit/agents/package.json'), 'utf8'),
  ) as { version: string };
  return {
    name: 'LiveKit Agents',
    version,
    engines,
    async prepare() {
      const room = `comparison-${randomBytes(6).toString('hex')}`;
      await dispatches.createDispatch(room, 'comparison');
      return {
        grant: { url: livekit['LIVEKIT_URL'] ?? '', token: await callerToken(livekit, room) },
        said: () => readHistory(join(histories, `${room}.json`)),
      };
    },
    processes: () => processTree(child.pid ?? 0),
    async close() {
      const tree = processTree(child.pid ?? 0);
      const ended = once(child, 'exit');
      // In production mode the agent waits for its calls on SIGTERM. No calls are left, so it is killed.
      for (const { pid } of tree) process.kill(pid, 'SIGKILL');
      await ended;
      await engines.close();
      rmSync(histories, { recursive: true, force: true });
    },
  };
}

async function callerToken(livekit: Readonly<Record<string, string>>, room: string): Promise<string> {
  const token = new AccessToken(livekit['LIVEKIT_API_KEY'], livekit['LIVEKIT_API_SECRET'], {
    identity: 'caller',
    ttl: 600,
  });
  token.addGrant({ roomJoin: true, room });
  return token.toJwt();
}

function waitForRegistration(child: ChildProcess): Promise<void> {
  const output: string[] = [];
  return new Promise((resolve, reject) => {
    const fail = () => {
      child.kill('SIGKILL');
      reject(new Error(`the agent of LiveKit's framework did not start:\n${output.join('').slice(-3_000)}`));
    };
    const limit = setTimeout(fail, REGISTERED_MS);
    child.once('exit', fail);
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        if (process.env['COMPARISON_LOG'] !== undefined) process.stderr.write(text);
        output.push(text);
        if (!output.join('').includes('registered worker')) return;
        clearTimeout(limit);
        child.off('exit', fail);
        output.length = 0;
        resolve();
      });
  });
}

async function readHistory(file: string): Promise<readonly string[] | null> {
  const lastMs = performance.now() + KEPT_MS;
  while (!existsSync(file)) {
    if (performance.now() > lastMs) return null;
    await new Promise((done) => setTimeout(done, 100));
  }
  const { items } = JSON.parse(readFileSync(file, 'utf8')) as {
    items: { type: string; role?: string; content?: unknown[] }[];
  };
  return items
    .filter(({ type, role }) => type === 'message' && role === 'assistant')
    .map(({ content }) => (content ?? []).join(' '));
}
