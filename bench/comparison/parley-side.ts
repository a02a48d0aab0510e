/** Parley, started as a user would start it, with web sessions in LiveKit rooms. */
import { programVersion } from '#base/program-version.ts';
import { startProduct } from '#test/journeys/product.ts';
import { engineSettings } from '../engine-process.ts';
import { startEngines } from './engines.ts';
import { GREETING, INSTRUCTIONS } from './script.ts';
import { SETTINGS, type Side } from './side.ts';

const SETTLED_MS = 20_000;

/** Starts Parley and creates the agent to compare. */
export async function startParley(livekit: Readonly<Record<string, string>>): Promise<Side> {
  const engines = await startEngines();
  const product = await startProduct({
    environment: {
      ...livekit,
      ...engineSettings(engines.urls),
      STARTING_CREDIT: '100000.00',
      LOG_LEVEL: 'warn',
    },
  });
  const { agent_id: agentId } = await product.ask('POST', '/v1/agent/agents', { name: 'Compared' });
  await product.ask('PATCH', `/v1/agent/agents/${agentId}/config`, {
    prompt: { system_prompt: INSTRUCTIONS, first_message_mode: 'fixed', first_message: GREETING },
    conversation: {
      response_wait_ms: SETTINGS.waitMs,
      response_max_wait_ms: SETTINGS.maxWaitMs,
      interruption_sensitivity: 'balanced',
    },
  });
  await product.ask('POST', `/v1/agent/agents/${agentId}/publish`, {});
  return {
    name: 'Parley',
    version: programVersion(),
    engines,
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
    async close() {
      await product.close();
      await engines.close();
    },
  };
}
