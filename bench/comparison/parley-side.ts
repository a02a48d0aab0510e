/** Parley, started as a user would start it, with web sessions in LiveKit rooms. */
import { programVersion } from '#base/program-version.ts';
import { type Product, startProduct } from '#test/journeys/product.ts';
import { type EngineUrls, engineSettings } from '../engine-process.ts';
import { startWithEngines } from './engines.ts';
import { GREETING, INSTRUCTIONS } from './script.ts';
import type { Agent, LivekitSettings, SideKind } from './side.ts';

const SETTLED_MS = 20_000;
/** The defaults of LiveKit's framework with its end-of-turn model, so that both wait alike. */
const WAIT_MS = 300;
const MAX_WAIT_MS = 2_500;

/** Parley. */
export const parley: SideKind = {
  id: 'parley',
  name: 'Parley',
  endOfTurn: 'documented',
  setUp:
    `the waits of LiveKit's model: ${WAIT_MS} ms of silence if the words are a finished turn, at most ` +
    `${MAX_WAIT_MS} ms otherwise; its default of 256 ms of voice to interrupt`,
  missing: () => null,
  start: (livekit) => startWithEngines((engines) => startParley(livekit, engines)),
};

async function startParley(livekit: LivekitSettings, engines: EngineUrls): Promise<Agent> {
  const product = await startProduct({
    environment: {
      ...livekit,
      ...engineSettings(engines),
      STARTING_CREDIT: '100000.00',
      LOG_LEVEL: 'warn',
    },
  });
  const agentId = await publishAgent(product).catch(async (error: unknown) => {
    await product.close();
    throw error;
  });
  return {
    version: programVersion(),
    async prepare() {
      const grant = await product.ask('POST', '/v1/agent/sessions', { agent_id: agentId });
      const session = () => product.ask('GET', `/v1/agent/sessions/${grant.session_id}`);
      return {
        grant: { url: grant.livekit_url, token: grant.token },
        async said() {
          await product.until(
            'the session is over',
            async () => ['completed', 'failed'].includes((await session()).status),
            SETTLED_MS,
          );
          const { items } = (await session()) as { items: { role?: string; content?: string }[] };
          return items.filter(({ role }) => role === 'assistant').map(({ content }) => content ?? '');
        },
      };
    },
    processes: () => product.processes(),
    close: () => product.close(),
  };
}

async function publishAgent(product: Product): Promise<string> {
  const { agent_id: agentId } = await product.ask('POST', '/v1/agent/agents', { name: 'Compared' });
  await product.ask('PATCH', `/v1/agent/agents/${agentId}/config`, {
    prompt: { system_prompt: INSTRUCTIONS, first_message_mode: 'fixed', first_message: GREETING },
    conversation: {
      response_wait_ms: WAIT_MS,
      response_max_wait_ms: MAX_WAIT_MS,
      interruption_sensitivity: 'balanced',
    },
  });
  await product.ask('POST', `/v1/agent/agents/${agentId}/publish`, {});
  return agentId;
}
