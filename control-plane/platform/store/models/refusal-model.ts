/** Refused calls and purchases, with the reason; a TTL index removes them after 30 days. */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';

/** Kinds of requests that can be refused. */
export const REFUSAL_KINDS = [
  'inbound_call',
  'outbound_call',
  'session',
  'public_session',
  'phone_number',
] as const;
export type RefusalKind = (typeof REFUSAL_KINDS)[number];

const KEPT_SECONDS = 30 * 24 * 60 * 60;

/** One refusal. */
export interface RefusalDocument {
  _id: string;
  team_id: string;
  agent_id: string | null;
  kind: RefusalKind;
  /** Fault code (config/errors.ts). */
  reason: string;
  message: string;
  /** HTTP status of the answer, or SIP status for an inbound INVITE. */
  status: number;
  caller_number: string | null;
  dialed_number: string | null;
  /** Both numbers, for searching. */
  numbers: string[];
  sip_call_id: string | null;
  created_at: Date;
}

/** Defines the model on a connection. */
export const defineRefusals = modelOf<RefusalDocument>('Refusal', () => {
  const text = { type: String, required: true };
  const optionalText = { type: String, default: null };
  const schema = new Schema<RefusalDocument>(
    {
      _id: text,
      team_id: text,
      agent_id: optionalText,
      kind: text,
      reason: text,
      message: text,
      status: { type: Number, required: true },
      caller_number: optionalText,
      dialed_number: optionalText,
      numbers: { type: [String], default: [] },
      sip_call_id: optionalText,
      created_at: { type: Date, required: true },
    },
    { collection: 'refusals', versionKey: false },
  );
  schema.index({ team_id: 1, created_at: -1, _id: -1 });
  schema.index({ team_id: 1, reason: 1, created_at: -1, _id: -1 });
  schema.index({ team_id: 1, agent_id: 1, created_at: -1, _id: -1 });
  schema.index({ team_id: 1, numbers: 1, created_at: -1, _id: -1 });
  schema.index({ created_at: 1 }, { expireAfterSeconds: KEPT_SECONDS });
  return schema;
});
