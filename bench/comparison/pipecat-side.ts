/**
 * An agent of Pipecat, started by Pipecat's own runner, which answers a request with a room that the agent
 * joins. The room is one of the comparison's LiveKit server, as for every side.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { freeTcpPort } from '#test/free-port.ts';
import { type AgentSettings, startAgent } from './agent-process.ts';
import { startWithEngines } from './engines.ts';
import { missingPython, pythonProgram, pythonVersion } from './python-packages.ts';
import type { Agent, EndOfTurn, SideKind } from './side.ts';

const SET_UPS: Readonly<Record<EndOfTurn, string>> = {
  documented:
    'its defaults: 200 ms after speech, Smart Turn v3 judges whether the turn is finished; if not, 3000 ms ' +
    'of silence end it; 200 ms of voice or a transcript interrupt',
  speech:
    'its defaults with a silence as end of turn: 600 ms after the 200 ms that end speech; 200 ms of voice ' +
    'or a transcript interrupt',
};
const NAMES: Readonly<Record<EndOfTurn, string>> = {
  documented: 'Pipecat',
  speech: 'Pipecat, by speech alone',
};

const started = z.object({ url: z.string(), token: z.string() });

/** The agent of Pipecat. */
export function pipecat(endOfTurn: EndOfTurn): SideKind {
  return {
    id: endOfTurn === 'speech' ? 'pipecat-speech' : 'pipecat',
    name: NAMES[endOfTurn],
    endOfTurn,
    setUp: SET_UPS[endOfTurn],
    missing: () => missingPython('pipecat'),
    start: (livekit) => startWithEngines((engines) => startPipecat({ livekit, engines, endOfTurn })),
  };
}

async function startPipecat(settings: AgentSettings): Promise<Agent> {
  const port = await freeTcpPort();
  const args = ['-t', 'livekit', '--host', '127.0.0.1', '--port', String(port)];
  const agent = await startAgent(
    { ...pythonProgram('pipecat', 'pipecat_agent.py', args), readyText: 'Uvicorn running' },
    settings,
  );
  return {
    version: pythonVersion('pipecat', 'pipecat_ai'),
    async prepare() {
      const call = randomUUID();
      const response = await fetch(`http://127.0.0.1:${port}/start`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ transport: 'livekit', body: { call } }),
      });
      if (!response.ok) throw new Error(`Pipecat's runner answered ${response.status}`);
      return { grant: started.parse(await response.json()), said: () => agent.said(call) };
    },
    processes: () => agent.processes(),
    close: () => agent.close(),
  };
}
