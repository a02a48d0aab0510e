import type { NumberDocument } from '../../platform/store/models/number-model.ts';

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
