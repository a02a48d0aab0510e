/** Creates an agent together with its agent tests, with the requests that any client could send. */
import { notifications } from '@mantine/notifications';
import type { AgentTemplate } from '../../../../protocol/agent-templates.ts';
import { call } from '../api/client.ts';
import { messageOf } from '../api/queries.ts';
import type { Agent } from '../api/types.ts';

/** An agent to create. */
export interface NewAgentFields extends Pick<AgentTemplate, 'config' | 'tests' | 'description'> {
  readonly name: string;
}

/** Creates them. The agent is kept if a test is refused, which a notification reports. */
export async function createAgent({ tests, ...fields }: NewAgentFields): Promise<Agent> {
  const agent = await call<Agent>('POST', '/v1/agent/agents', fields);
  try {
    for (const test of tests) await call('POST', '/v1/agent/tests', { ...test, agent_ids: [agent.agent_id] });
  } catch (error) {
    notifications.show({
      title: 'The agent was created without all of its tests',
      message: messageOf(error),
      color: 'red',
      autoClose: 10_000,
    });
  }
  return agent;
}
