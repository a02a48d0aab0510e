/**
 * The built-in tools that act on the call itself. They are only defined here: the turn machine carries them out.
 * Their names live under a leading underscore, which no tool of a tenant can reach (supplement 2.2).
 */
import type { AgentConfig } from '#config/agent-config.ts';
import type { ToolDefinition } from '#runtime/llm/llm.ts';

/** Name under which hanging up is offered. */
const HANG_UP_CALL = '_hang_up_call';

/** True for the hang-up tool, with or without its underscore: models drop it at times. */
export function isHangUpCall(toolName: string): boolean {
  return toolName === HANG_UP_CALL || toolName === HANG_UP_CALL.slice(1);
}

/** The hang-up tool as this agent offers it, or null when it does not (supplement 4.8). */
export function hangUpCallTool(config: AgentConfig): ToolDefinition | null {
  const { hang_up_call, hang_up_call_farewell_mode } = config.tools.system_tools;
  if (!config.tools.enabled || !hang_up_call) return null;
  const farewell = { name: 'farewell', description: 'A short goodbye to say before hanging up. Leave it empty when you have already said goodbye.' };
  return {
    name: HANG_UP_CALL,
    description: 'Ends the call. Use it when the conversation is finished or the caller asks to hang up, and never while a question is open.',
    arguments: hang_up_call_farewell_mode === 'generated' ? [farewell] : [],
  };
}
