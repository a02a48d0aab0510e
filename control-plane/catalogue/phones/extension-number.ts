/** Stands for the number of a call to an extension. It is not stored, and has no trunk to call out by. */
import { type Context, now } from '../../platform/context.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';
import type { NumberDocument } from '../../platform/store/models/number-model.ts';
import { newNumber } from '../numbers/new-number.ts';

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
      // Without any of it: the operator's trunk would carry what it has none for.
      sip: {
        inbound_auth_username: null,
        inbound_auth_password: null,
        inbound_allowed_addresses: [],
        termination_uri: null,
        termination_transport: null,
        termination_auth_username: null,
        termination_auth_password: null,
        termination_headers: {},
      },
    },
    now({ clock }),
  );
}

/** Whether this is the number of a call to an extension. */
export function isOfExtension({ _id }: Pick<NumberDocument, '_id'>): boolean {
  return _id === NO_ID;
}
