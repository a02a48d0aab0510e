/** The addresses of the console, for checks that every page must pass. */
import type { Installation } from './installation.ts';
import { demoAgentId } from './tenant.ts';

/** All pages of the console, with the data that the journey has created so far. */
export async function everyPage(product: Installation): Promise<string[]> {
  const [{ agents }, { sessions }] = await Promise.all([
    product.ask('GET', '/v1/agent/agents'),
    product.ask('GET', '/v1/agent/sessions'),
  ]);
  const tool = await product.ask('POST', '/v1/agent/tools', {
    name: 'Find order',
    url: 'https://example.com/orders',
    arguments: [{ name: 'order' }],
  });
  const server = await product.ask('POST', '/v1/agent/tool-servers', {
    name: 'Calendar',
    url: 'https://tools.example.com/mcp',
    headers: [{ name: 'Authorization', kind: 'authorization_bearer', value: 'Bearer secret' }],
  });
  const written = await product.ask('POST', '/v1/agent/text-sessions', {
    agent_id: await demoAgentId(product),
  });
  const textSession = `/text-sessions/${written.text_session_id}`;
  await product.ask('POST', `/v1/agent${textSession}/messages`, { content: 'When do you open?' });
  const tabs = [
    'prompt',
    'voice',
    'tools',
    'conversation',
    'phone',
    'analysis',
    'test',
    'write',
    'scorecard',
    'versions',
    'access',
  ];
  return [
    '',
    '/agents',
    ...tabs.map((tab) => `/agents/${agents[0].agent_id}/${tab}`),
    '/tools',
    `/tools/${tool.tool_id}`,
    '/tool-servers',
    `/tool-servers/${server.tool_server_id}`,
    '/knowledge',
    '/numbers',
    '/calls',
    ...(sessions.length > 0 ? [`/calls/${sessions[0].session_id}`] : []),
    '/text-sessions',
    textSession,
    '/batch-calls',
    '/analytics',
    '/webhooks',
    '/refusals',
    '/speech-models',
    '/agent-tests',
    '/wallet',
    '/keys',
    '/nowhere',
  ];
}
