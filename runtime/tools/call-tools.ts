/**
 * Built-in tools that act on the call itself. Defined here, carried out by the turn machine. Their names
 * start with an underscore, which tenants' tools cannot.
 */
import { z } from 'zod';
import type { AgentConfig } from '#config/agent-config.ts';
import type { CallPlan } from '#protocol/call-plan.ts';
import { HANG_UP_CALL } from '#protocol/hang-up-call.ts';
import type { ToolDefinition } from '#runtime/llm/llm.ts';
import { pressKeysTool } from './press-keys.ts';

/** The agent's hang-up tool, or null if it has none. */
export function hangUpCallTool(config: AgentConfig): ToolDefinition | null {
  const { hang_up_call, hang_up_call_farewell_mode } = config.tools.system_tools;
  if (!config.tools.enabled || !hang_up_call) return null;
  const farewell = {
    name: 'farewell',
    description:
      'A short goodbye to say before hanging up. Leave it empty when you have already said goodbye.',
  };
  return {
    name: HANG_UP_CALL,
    description:
      'Ends the call. Use it when the conversation is finished or the caller asks to hang up, and never ' +
      'while a question is open.',
    arguments: hang_up_call_farewell_mode === 'generated' ? [farewell] : [],
  };
}

/** Name of the transfer tool. */
const TRANSFER_CALL = '_transfer_call';

/** Arguments of a transfer requested by the model. */
export const transferWish = z.object({
  destination: z.string().catch(''),
  announcement: z
    .string()
    .catch('')
    .transform((text) => text.slice(0, 500)),
  notes: z
    .string()
    .catch('')
    .transform((text) => text.slice(0, 2_000)),
});

/** True for the transfer tool, with or without its underscore. */
export function isTransferCall(toolName: string): boolean {
  return toolName === TRANSFER_CALL || toolName === TRANSFER_CALL.slice(1);
}

/**
 * The transfer tool of a phone call; null when the agent has no destinations. `render` fills placeholders.
 */
export function transferCallTool(plan: CallPlan, render: (text: string) => string): ToolDefinition | null {
  const { transfer } = plan;
  const all = plan.config.conversation.transfer_destinations;
  const open = all.filter((_, index) => transfer?.routes[index]?.error === null);
  if (open.length === 0) return null;
  const lines = open.map(({ label, description }) =>
    [label, description].filter((part) => part !== '').join(': '),
  );
  const briefings = open
    .filter(({ mode }) => mode === 'warm')
    .map((destination) => render(destination.warm_briefing_instructions).trim());
  const isGenerated = open.some(
    ({ announcement_mode, announcement_message }) =>
      announcement_mode === 'generated' || announcement_message === '',
  );
  return {
    name: TRANSFER_CALL,
    description: [
      'Hands the caller over to a person. Use it only when the caller asks for a person or you cannot ' +
        'help, and never while a question of yours is open.',
      ...lines.filter((line) => line !== ''),
    ].join('\n'),
    arguments: [
      ...(all.length > 1
        ? [{ name: 'destination', description: `One of: ${open.map(({ label }) => label).join(', ')}` }]
        : []),
      ...(isGenerated
        ? [
            {
              name: 'announcement',
              description:
                'One short sentence that tells the caller they are being connected. Leave it empty when ' +
                'you have said so already.',
            },
          ]
        : []),
      ...(briefings.length > 0
        ? [
            {
              name: 'notes',
              description: (
                'What the person is told about the caller before they are connected, in the third person, ' +
                `in one to three sentences. ${briefings.join(' ')}`
              ).trim(),
            },
          ]
        : []),
    ],
  };
}

/** The tools of a call that act on the call itself. */
export function builtInTools(plan: CallPlan, render: (text: string) => string): ToolDefinition[] {
  return [hangUpCallTool(plan.config), transferCallTool(plan, render), pressKeysTool(plan)].filter(
    (tool) => tool !== null,
  );
}
