/** Phone numbers that tests insert instead of buying or importing them, so that no rent is charged. */
import { newId } from '#control-plane/platform/context.ts';
import type { TestApi, TestUser } from './test-api.ts';

let next = 15_550_130_000;

/** Inserts an active, managed, unbound number of the user, with these fields changed; returns its id. */
export async function insertNumber(
  api: TestApi,
  user: TestUser,
  changes: Record<string, unknown> = {},
): Promise<string> {
  const at = new Date();
  const number = {
    _id: newId(),
    team_id: user.teamId,
    workspace_id: user.workspaceId,
    user_id: user.userId,
    phone_number: `+${next++}`,
    provider: 'managed',
    status: 'active',
    is_proven: true,
    agent_id: null,
    sip: null,
    created_at: at,
    updated_at: at,
    ...changes,
  };
  await api.context.models.numbers.collection.insertOne(number as never);
  return number._id;
}

/** The SIP settings of an imported number without credentials. */
export function sipOf(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    inbound_auth_username: null,
    inbound_auth_password: null,
    inbound_allowed_addresses: [],
    termination_uri: null,
    termination_transport: 'tcp',
    termination_auth_username: null,
    termination_auth_password: null,
    termination_headers: {},
    ...changes,
  };
}
