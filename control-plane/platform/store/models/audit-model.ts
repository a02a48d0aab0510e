/** The audit log: one entry per change to a team's configuration. Entries are never modified. */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';

/** One configuration change. */
export interface AuditDocument {
  _id: string;
  team_id: string;
  user_id: string;
  key_id: string;
  /** Method and route, e.g. `PATCH /v1/agent/agents/{agent_id}/config`. */
  action: string;
  resource: string;
  resource_id: string | null;
  /** Paths of the fields set by the request, including defaults; never their values. */
  fields: string[];
  request_id: string;
  created_at: Date;
}

/** Defines the model on a connection. */
export const defineAuditLog = modelOf<AuditDocument>('AuditEntry', () => {
  const text = { type: String, required: true };
  const schema = new Schema<AuditDocument>(
    {
      _id: text,
      team_id: text,
      user_id: text,
      key_id: text,
      action: text,
      resource: text,
      resource_id: { type: String, default: null },
      fields: { type: [String], default: [] },
      request_id: text,
      created_at: { type: Date, required: true },
    },
    { collection: 'audit_log', versionKey: false },
  );
  schema.index({ team_id: 1, created_at: -1, _id: -1 });
  return schema;
});
