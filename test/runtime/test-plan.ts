/** A plan for a phone call with the defaults of a new agent. */
import { agentConfig, defaultAgentConfig } from '#config/agent-config.ts';
import { CALL_PLAN_VERSION, type CallPlan } from '#protocol/call-plan.ts';

/** `changes` override the agent's configuration, section by section. */
export function testPlan(changes: Readonly<Record<string, object>> = {}): CallPlan {
  const defaults: Record<string, object> = {
    ...defaultAgentConfig({ llmModel: 'test/model', asrModel: 'test', voiceId: 'default' }),
  };
  for (const [section, fields] of Object.entries(changes))
    defaults[section] = { ...defaults[section], ...fields };
  return {
    version: CALL_PLAN_VERSION,
    session_id: 'session',
    agent_id: 'agent',
    agent_name: 'Agent',
    channel: 'phone_inbound',
    config: agentConfig.parse(defaults),
    variables: {},
    system_variables: {
      channel: 'phone_inbound',
      timezone: 'Europe/Berlin',
      today: '2026-11-21',
      language: 'en',
      caller_number: '',
      dialed_number: '',
      caller_number_spoken: '',
    },
    first_message_override: null,
    outreach: null,
    tools: [],
    knowledge: [],
    llm_api_key: null,
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
  };
}
