/**
 * Extensions: short numbers within a team, of phones and of agents. The store lets no two phones, and no two
 * agents, have the same one. A check before each change keeps a phone from having an agent's; if two changes
 * pass it at once, the agent is called.
 */
import { z } from 'zod';
import type { Context } from '../../platform/context.ts';
import { invalidField } from '../../platform/http/problems.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';

/** Dialled for help in many countries: somebody who dials one must not be answered by an agent. */
const EMERGENCY: ReadonlySet<string> = new Set(['000', '110', '112', '911', '999']);

/** An extension. */
export const extension = z
  .string()
  .regex(/^\d{2,6}$/, 'must have 2 to 6 digits')
  .refine((digits) => !EMERGENCY.has(digits), 'is an emergency number');

type Kind = 'agent' | 'phone';

/** Whether a dialled user part can be an extension. */
export function isExtension(user: string): boolean {
  return extension.safeParse(user).success;
}

/** Throws `InvalidRequest` if another agent or phone of the team has it. */
export async function checkExtension(
  { models }: Pick<Context, 'models'>,
  teamId: string,
  wanted: { readonly extension: string; readonly id: string },
): Promise<void> {
  const others = { team_id: teamId, extension: wanted.extension, _id: { $ne: wanted.id } };
  const [agent, phone] = await Promise.all([models.agents.exists(others), models.sipPhones.exists(others)]);
  if (agent) throw taken('agent');
  if (phone) throw taken('phone');
}

/** The same for the store's refusal of a change; anything else is rethrown. */
export function explainTaken(kind: Kind): (error: unknown) => never {
  return (error) => {
    throw isDuplicateKey(error) ? taken(kind) : error;
  };
}

/** The agent with an extension; null without one. */
export function agentAt(
  { models }: Pick<Context, 'models'>,
  teamId: string,
  dialled: string,
): Promise<AgentDocument | null> {
  return models.agents
    .findOne({ team_id: teamId, extension: dialled, status: 'active' })
    .lean<AgentDocument>();
}

function taken(kind: Kind): Error {
  return invalidField(['extension'], `another ${kind} has this extension`);
}
