/** A valid call plan for tests, with the values a test needs. */
import { agentConfig } from '#config/agent-config.ts';
import { type CallPlan, callPlan, type PlannedTool, plannedTool } from '#protocol/call-plan.ts';

/** A web call's plan. */
export function callPlanOf(over: Partial<CallPlan> = {}): CallPlan {
  return callPlan.parse({
    version: 1,
    session_id: 's1',
    agent_id: 'a1',
    agent_name: 'Test agent',
    channel: 'web_voice',
    config: agentConfig.parse({}),
    variables: {},
    system_variables: systemVariables,
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
    max_duration_seconds: 600,
    is_preview: false,
    transport: { type: 'webrtc' },
    ...over,
  });
}

/** The system variables of the plan. */
export const systemVariables = {
  channel: 'web_voice',
  timezone: 'UTC',
  today: '2026-01-01',
  language: 'en',
  caller_number: '+15550100001',
  dialed_number: '+15550100002',
  caller_number_spoken: '+1; 5 5 5; 0 1 0; 0 0 0 1',
} as const;

/** A webhook tool. */
export function toolOf(over: Partial<PlannedTool> = {}): PlannedTool {
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
    ...over,
  });
}
