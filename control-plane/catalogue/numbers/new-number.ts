import type { NumberDocument, NumberSip } from '../../platform/store/models/number-model.ts';

type NewNumber = Pick<
  NumberDocument,
  | '_id'
  | 'team_id'
  | 'workspace_id'
  | 'user_id'
  | 'phone_number'
  | 'provider'
  | 'label'
  | 'agent_id'
  | 'status'
  | 'sip'
  | 'is_proven'
  | 'media_stream'
>;

/** SIP settings of a number that neither gets nor makes calls by SIP. */
export const NO_TRUNK: NumberSip = {
  inbound_auth_username: null,
  inbound_auth_password: null,
  inbound_allowed_addresses: [],
  termination_uri: null,
  termination_transport: null,
  termination_auth_username: null,
  termination_auth_password: null,
  termination_headers: {},
};

/** A number before its first change. */
export function newNumber(of: NewNumber, at: Date): NumberDocument {
  return {
    ...of,
    status_detail: '',
    transfer_caller_id: 'agent_number',
    carrier_number_id: '',
    rent_day: '',
    created_at: at,
    updated_at: at,
  };
}
