/** The one builder of call plans and planned tools for tests. */
import { agentConfig, defaultAgentConfig } from '#config/agent-config.ts';
import { CALL_PLAN_VERSION, type CallPlan, type PlannedTool, plannedTool } from '#protocol/call-plan.ts';

/** Changes of an agent's configuration, section by section. */
export type ConfigChanges = Readonly<Record<string, object | undefined>>;

/** The fields that differ between a call of a web page and an inbound phone call. */
export const WEB = { channel: 'web_voice', transport: { type: 'webrtc' } } as const;

/**
 * A plan for an inbound phone call to a new agent: `config` overrides its configuration section by section,
 * `changes` the other fields of the plan.
 */
export function testPlan(
  config: ConfigChanges = {},
  changes: Partial<Omit<CallPlan, 'config'>> = {},
): CallPlan {
  const sections: Record<string, object | undefined> = {
    ...defaultAgentConfig({ llmModel: 'test/model', asrModel: 'test', voiceId: 'default' }),
  };
  for (const [section, fields] of Object.entries(config))
    sections[section] = { ...sections[section], ...fields };
  const { channel = 'phone_inbound' } = changes;
  return {
    version: CALL_PLAN_VERSION,
    session_id: 's1',
    agent_id: 'agent',
    agent_name: 'Agent',
    channel,
    config: agentConfig.parse(sections),
    variables: {},
    system_variables: {
      channel,
      timezone: 'Europe/Berlin',
      today: '2026-11-21',
      language: 'en',
      caller_number: '+15550100001',
      dialed_number: '+15550100002',
      caller_number_spoken: '+1; 5 5 5; 0 1 0; 0 0 0 1',
    },
    first_message_override: null,
    outreach: null,
    tools: [],
    tool_servers: [],
    knowledge: [],
    llm_api_key: null,
    local_models: [],
    llm_extra_body: null,
    end_user_id: null,
    record_audio: true,
    tool_events: true,
    world_context: true,
    max_duration_seconds: 300,
    is_preview: false,
    traceparent: null,
    transfer: null,
    transport: { type: 'sip_inbound', sip_call_id: 'x', from_number: '', to_number: '', is_tenants: false },
    ...changes,
  };
}

/** A webhook tool as a plan contains it. */
export function testTool(changes: Partial<PlannedTool> = {}): PlannedTool {
  return plannedTool.parse({
    tool_id: 't1',
    function_name: 'book',
    name: 'Book',
    description: 'Books a table',
    tool_type: 'webhook',
    arguments: [{ name: 'day', description: 'which day' }],
    method: 'POST',
    url: 'https://example.com/book',
    content_type: 'application/json',
    body_template: '{"day":"{{day}}"}',
    headers: [],
    timeout_seconds: 30,
    error_handling: 'passthrough',
    expects_response: true,
    execution_mode: 'blocking',
    ...changes,
  });
}
