/** Stands for the number of a call to an extension. It is not stored, and has no trunk to call out by. */
import { type Context, now } from '../../platform/context.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import { NO_TRUNK, newNumber } from '../numbers/new-number.ts';

/** No stored number has it. */
const NO_ID = '';

/** The number of a call to this agent. */
export function numberOfExtension(
  { clock }: Pick<Context, 'clock'>,
  agent: Pick<AgentDocument, '_id' | 'team_id' | 'workspace_id' | 'user_id' | 'extension'>,
): NumberDocument {
  return newNumber(
    {
      _id: NO_ID,
      team_id: agent.team_id,
      workspace_id: agent.workspace_id,
      user_id: agent.user_id,
      phone_number: agent.extension ?? '',
      provider: 'sip',
      label: '',
      agent_id: agent._id,
      status: 'active',
      // Not null: calls of a number without SIP settings go out by the operator's trunk.
      sip: NO_TRUNK,
    },
    now({ clock }),
  );
}

/** Whether this is the number of a call to an extension. */
export function isOfExtension({ _id }: Pick<NumberDocument, '_id'>): boolean {
  return _id === NO_ID;
}
