/**
 * Phone numbers, either bought from the carrier or imported with the customer's own SIP trunk. Passwords are
 * sealed.
 */
import { Schema } from 'mongoose';
import type { StreamVendor } from '#protocol/media-streams.ts';
import { modelOf } from '../schema.ts';

/** SIP settings of an imported number, inbound and outbound. */
export interface NumberSip {
  inbound_auth_username: string | null;
  /** Stored sealed. */
  inbound_auth_password: string | null;
  inbound_allowed_addresses: string[];
  termination_uri: string | null;
  termination_transport: 'auto' | 'udp' | 'tcp' | 'tls' | null;
  /** Host of From in outbound calls. Absent: our own address. */
  termination_from_domain?: string;
  termination_auth_username: string | null;
  /** Stored sealed. */
  termination_auth_password: string | null;
  termination_headers: Record<string, string>;
}

/** Limits on outbound calls over a number's trunk; null means no limit. */
export interface TrunkLimits {
  concurrent_calls: number | null;
  calls_per_minute: number | null;
}

/** The agent that answers text messages to a number. */
export interface NumberSms {
  agent_id: string;
  /**
   * A conversation goes on with what was said in the last one with the same person, by phone or in writing,
   * if that ended at most so long ago.
   */
  continue_minutes: number;
}

/** The account whose vendor brings the number's calls as media streams. */
export interface NumberStream {
  vendor: StreamVendor;
  /** Id of the account; empty if the vendor's requests do not name it. */
  account: string;
  /** With which the vendor's requests are checked. Stored sealed. */
  secret: string;
}

/** A phone number of a workspace; `released` numbers stay stored but are never shown again. */
export interface NumberDocument {
  _id: string;
  team_id: string;
  workspace_id: string;
  /** The account that pays for rent and calls. */
  user_id: string;
  phone_number: string;
  provider: 'managed' | 'sip';
  label: string;
  agent_id: string | null;
  status: 'provisioning' | 'active' | 'error' | 'released';
  status_detail: string;
  transfer_caller_id: 'agent_number' | 'original_caller';
  /** The carrier's id for the number; empty until it is bought, and for imported numbers. */
  carrier_number_id: string;
  /** Last day (UTC, `yyyy-mm-dd`) for which rent was charged; empty for numbers without rent. */
  rent_day: string;
  sip: NumberSip | null;
  /**
   * The holder's right to the number is certain: it was bought, or ownership was proven. A number has at most
   * one such holder. Absent until then.
   */
  is_proven?: boolean;
  /**
   * Released before it was known whether the carrier had sold it; set until the number is returned or an hour
   * has passed.
   */
  is_abandoned?: true;
  /** Absent until set. */
  trunk_limits?: TrunkLimits;
  /** Absent until set. */
  sms?: NumberSms;
  /** Absent unless the number is connected. */
  media_stream?: NumberStream;
  created_at: Date;
  updated_at: Date;
}

/**
 * Statuses that occupy the E.164 number: within the team, and across the platform once ownership is proven
 * (not in `error`).
 */
export const OCCUPYING_STATUSES = ['provisioning', 'active'] as const;

/** Defines the model on a connection. */
export const defineNumbers = modelOf<NumberDocument>('Number', () => {
  const schema = new Schema<NumberDocument>(
    {
      _id: { type: String, required: true },
      team_id: { type: String, required: true },
      workspace_id: { type: String, required: true },
      user_id: { type: String, required: true },
      phone_number: { type: String, required: true },
      provider: { type: String, required: true },
      label: { type: String, default: '' },
      agent_id: { type: String, default: null },
      status: { type: String, required: true },
      status_detail: { type: String, default: '' },
      transfer_caller_id: { type: String, default: 'agent_number' },
      carrier_number_id: { type: String, default: '' },
      rent_day: { type: String, default: '' },
      sip: { type: Schema.Types.Mixed, default: null },
      is_proven: { type: Boolean },
      is_abandoned: { type: Boolean },
      trunk_limits: { type: Schema.Types.Mixed },
      sms: { type: Schema.Types.Mixed },
      media_stream: { type: Schema.Types.Mixed },
      created_at: { type: Date, required: true },
      updated_at: { type: Date, required: true },
    },
    { collection: 'numbers', versionKey: false, minimize: false },
  );
  const occupying = { status: { $in: [...OCCUPYING_STATUSES] } };
  schema.index(
    { phone_number: 1 },
    { name: 'proven_phone_number', unique: true, partialFilterExpression: { ...occupying, is_proven: true } },
  );
  schema.index({ team_id: 1, phone_number: 1 }, { unique: true, partialFilterExpression: occupying });
  schema.index({ phone_number: 1, status: 1 });
  schema.index({ team_id: 1, created_at: -1, _id: -1 });
  schema.index({ agent_id: 1 });
  schema.index({ is_abandoned: 1 }, { sparse: true });
  schema.index({ status: 1, rent_day: 1 });
  return schema;
});
