/** The program of an agent in the comparison: how its end and its failed start leave nothing behind. */
import { expect, it } from 'vitest';
import { type AgentProgram, startAgent } from '#bench/comparison/agent-process.ts';
import { isRunning } from '#test/journeys/process-tree.ts';

const SETTINGS = {
  livekit: { LIVEKIT_URL: '', LIVEKIT_API_KEY: '', LIVEKIT_API_SECRET: '' },
  engines: { openai: '', deepgram: '' },
  endOfTurn: 'documented',
} as const;
/** Starts a process that would live for a minute, and says its id when it is ready. */
const SCRIPT = `
  const { spawn } = require('node:child_process');
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)'], { stdio: 'ignore' });
  require('node:fs').writeFileSync(process.env.COMPARISON_HISTORY + '/call.json', JSON.stringify([child.pid]));
  console.log('ready');
`;

function program(changes: Partial<AgentProgram>): AgentProgram {
  return {
    command: process.execPath,
    args: ['-e', SCRIPT],
    cwd: '/',
    environment: {},
    readyText: 'ready',
    ...changes,
  };
}

it('an agent whose command does not exist is refused with the reason', async () => {
  const missing = program({ command: '/does/not/exist' });
  await expect(startAgent(missing, SETTINGS)).rejects.toThrow(/did not start: .*ENOENT/);
});

it('an agent that ends before it is ready is refused with its output', async () => {
  const broken = program({ args: ['-e', 'console.log("no licence"); process.exitCode = 3'] });
  await expect(startAgent(broken, SETTINGS)).rejects.toThrow(/it ended with 3\nno licence/);
});

it('closing an agent ends what it started, also after the agent itself was killed', async () => {
  for (const isKilled of [false, true]) {
    const agent = await startAgent(program({}), SETTINGS);
    const [pid = 0] = ((await agent.said('call')) ?? []).map(Number);
    expect(isRunning(pid)).toBe(true);
    const [root] = agent.processes();
    if (isKilled && root) process.kill(root.pid, 'SIGKILL');
    await agent.close();
    await expect.poll(() => isRunning(pid)).toBe(false);
  }
});
