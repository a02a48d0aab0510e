/** An account as the API returns it, to the operator and to the account itself. */
import { z } from 'zod';
import type { UserDocument } from '../../platform/store/models/user-model.ts';
import { limitFields, toLimitRecord } from '../limits/limit-record.ts';

/** The account record. */
export const accountRecord = z.object({
  user_id: z.string(),
  name: z.string(),
  team_id: z.string(),
  workspace_id: z.string(),
  beta_access: z.boolean(),
  phone_number_limit: z.number().int(),
  outbound_enabled: z.boolean(),
  ...limitFields,
});

/** Converts a user document to the account record. */
export function toAccountRecord(user: UserDocument): z.output<typeof accountRecord> {
  const { _id, name, team_id, workspace_id, beta_access, phone_number_limit, outbound_enabled } = user;
  return {
    user_id: _id,
    name,
    team_id,
    workspace_id,
    beta_access,
    phone_number_limit,
    outbound_enabled,
    ...toLimitRecord(user),
  };
}
