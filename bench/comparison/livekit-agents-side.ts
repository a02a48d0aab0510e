/**
 * Agents of LiveKit's framework, in JavaScript and in Python: run in production mode, as its documentation
 * describes, and sent to each room by explicit dispatch.
 */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AccessToken, AgentDispatchClient } from 'livekit-server-sdk';
import { type AgentProgram, type AgentSettings, startAgent } from './agent-process.ts';
import { startWithEngines } from './engines.ts';
import { missingPython, pythonProgram, pythonVersion } from './python-packages.ts';
import type { Agent, EndOfTurn, LivekitSettings, SideKind } from './side.ts';

const FOLDER = join(import.meta.dirname, 'livekit-agent');
const READY_TEXT = 'registered worker';

/** Waits of the framework in both languages. */
const SET_UPS: Readonly<Record<EndOfTurn, string>> = {
  documented:
    'its defaults: the end-of-turn model that runs on the machine (v1-mini), 300 ms of silence if it ' +
    'judges the turn finished, otherwise 2500 ms; 500 ms of voice interrupt',
  speech: 'its defaults with `vad` as turn detection: 500 ms after speech; 500 ms of voice interrupt',
};
const NAMES: Readonly<Record<EndOfTurn, string>> = { documented: '', speech: ', by speech alone' };

/** The agent in JavaScript. */
export function livekitInJavascript(endOfTurn: EndOfTurn): SideKind {
  return {
    id: endOfTurn === 'speech' ? 'livekit-js-speech' : 'livekit-js',
    name: `LiveKit Agents (JavaScript)${NAMES[endOfTurn]}`,
    endOfTurn,
    setUp: SET_UPS[endOfTurn],
    missing: () => installInJavascript(),
    start: (livekit) =>
      startWithEngines((engines) => {
        const program = {
          command: process.execPath,
          args: ['agent.ts', 'start'],
          cwd: FOLDER,
          environment: { LOG_LEVEL: 'info' },
          readyText: READY_TEXT,
        };
        return startLivekitAgents({ program, version: readVersion() }, { livekit, engines, endOfTurn });
      }),
  };
}

/** The agent in Python. */
export function livekitInPython(endOfTurn: EndOfTurn): SideKind {
  return {
    id: endOfTurn === 'speech' ? 'livekit-python-speech' : 'livekit-python',
    name: `LiveKit Agents (Python)${NAMES[endOfTurn]}`,
    endOfTurn,
    setUp: SET_UPS[endOfTurn],
    missing: () => missingPython('livekit'),
    start: (livekit) =>
      startWithEngines((engines) => {
        const program = {
          ...pythonProgram('livekit', 'livekit_agent.py', ['start']),
          readyText: READY_TEXT,
        };
        const version = pythonVersion('livekit', 'livekit_agents');
        return startLivekitAgents({ program, version }, { livekit, engines, endOfTurn });
      }),
  };
}

/** Installs the dependencies from their lock file unless they are present; returns why that failed. */
function installInJavascript(): string | null {
  if (existsSync(join(FOLDER, 'node_modules/@livekit/agents'))) return null;
  console.log('installing @livekit/agents into bench/comparison/livekit-agent (about 500 MB) …');
  // The install scripts would download GPU libraries.
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: FOLDER,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return status === 0 ? null : '`npm ci` in bench/comparison/livekit-agent failed';
}

function readVersion(): string {
  const file = join(FOLDER, 'node_modules/@livekit/agents/package.json');
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

async function startLivekitAgents(
  { program, version }: { readonly program: AgentProgram; readonly version: string },
  settings: AgentSettings,
): Promise<Agent> {
  const { livekit } = settings;
  const agent = await startAgent(program, settings);
  const dispatches = new AgentDispatchClient(
    livekit.LIVEKIT_URL.replace(/^ws/, 'http'),
    livekit.LIVEKIT_API_KEY,
    livekit.LIVEKIT_API_SECRET,
  );
  return {
    version,
    async prepare() {
      const room = `comparison-${randomBytes(6).toString('hex')}`;
      await dispatches.createDispatch(room, 'comparison');
      return {
        grant: { url: livekit.LIVEKIT_URL, token: await callerToken(livekit, room) },
        said: () => agent.said(room),
      };
    },
    processes: () => agent.processes(),
    close: () => agent.close(),
  };
}

async function callerToken(livekit: LivekitSettings, room: string): Promise<string> {
  const token = new AccessToken(livekit.LIVEKIT_API_KEY, livekit.LIVEKIT_API_SECRET, {
    identity: 'caller',
    ttl: 600,
  });
  token.addGrant({ roomJoin: true, room });
  return token.toJwt();
}
