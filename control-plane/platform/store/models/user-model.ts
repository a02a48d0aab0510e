/** Users: accounts, each with its own team and default workspace. */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';

/** Spend limits of an account or agent; null means no limit. */
export interface SpendLimits {
  /** Micro-dollars per day (UTC). */
  daily_cap: number | null;
  concurrent_calls: number | null;
}

/** A user account. */
export interface UserDocument extends Partial<SpendLimits> {
  _id: string;
  name: string;
  team_id: string;
  workspace_id: string;
  is_root: boolean;
  beta_access: boolean;
  phone_number_limit: number;
  outbound_enabled: boolean;
  created_at: Date;
}

/** Defines the model on a connection. */
export const defineUsers = modelOf<UserDocument>('User', () => {
  const schema = new Schema<UserDocument>(
    {
      _id: { type: String, required: true },
      name: { type: String, required: true },
      team_id: { type: String, required: true },
      workspace_id: { type: String, required: true },
      is_root: { type: Boolean, default: false },
      beta_access: { type: Boolean, required: true },
      phone_number_limit: { type: Number, required: true },
      outbound_enabled: { type: Boolean, default: true },
      daily_cap: { type: Number, default: null },
      concurrent_calls: { type: Number, default: null },
      created_at: { type: Date, required: true },
    },
    { collection: 'users', versionKey: false },
  );
  schema.index({ workspace_id: 1 });
  return schema;
});
