/** Accounts at PBXs and carriers under which this platform registers. The password is sealed. */
import { Schema } from 'mongoose';
import type { RegistrationState } from '#telephony/registration/registration-state.ts';
import { modelOf } from '../schema.ts';

/** A registration in a workspace. */
export interface SipRegistrationDocument {
  _id: string;
  team_id: string;
  workspace_id: string;
  label: string;
  /** `host` or `host:port` */
  registrar: string;
  username: string;
  /** Null: `username`. */
  auth_username: string | null;
  /** Stored sealed. */
  password: string;
  /** `host` or `host:port`; null: requests go to the registrar. */
  outbound_proxy: string | null;
  transport: 'auto' | 'udp' | 'tcp' | 'tls';
  expires_seconds: number;
  /** 0: none. */
  keep_alive_seconds: number;
  /** The number that its calls belong to. */
  phone_number_id: string | null;
  /** User part of our Contact: the PBX calls it, and nothing else can guess it. */
  token: string;
  /** The same for all requests of the registration (RFC 3261 §10.2). */
  call_id: string;
  from_tag: string;
  cseq: number;
  state: RegistrationState;
  /** When the next request is due. */
  due_at: Date;
  lease_by: string | null;
  lease_until: Date | null;
  /** Counts changes by its holder. */
  rev: number;
  /** Set once it was deleted: the registrar has yet to be told. */
  deleting_at?: Date;
  created_at: Date;
  updated_at: Date;
}

/** Defines the model on a connection. */
export const defineSipRegistrations = modelOf<SipRegistrationDocument>('SipRegistration', () => {
  const schema = new Schema<SipRegistrationDocument>(
    {
      _id: { type: String, required: true },
      team_id: { type: String, required: true },
      workspace_id: { type: String, required: true },
      label: { type: String, default: '' },
      registrar: { type: String, required: true },
      username: { type: String, required: true },
      auth_username: { type: String, default: null },
      password: { type: String, required: true },
      outbound_proxy: { type: String, default: null },
      transport: { type: String, required: true },
      expires_seconds: { type: Number, required: true },
      keep_alive_seconds: { type: Number, required: true },
      phone_number_id: { type: String, default: null },
      token: { type: String, required: true },
      call_id: { type: String, required: true },
      from_tag: { type: String, required: true },
      cseq: { type: Number, default: 0 },
      state: { type: Schema.Types.Mixed, required: true },
      due_at: { type: Date, required: true },
      lease_by: { type: String, default: null },
      lease_until: { type: Date, default: null },
      rev: { type: Number, default: 0 },
      deleting_at: { type: Date },
      created_at: { type: Date, required: true },
      updated_at: { type: Date, required: true },
    },
    { collection: 'sip_registrations', versionKey: false, minimize: false },
  );
  schema.index({ token: 1 }, { unique: true });
  schema.index({ team_id: 1, created_at: -1, _id: -1 });
  schema.index({ due_at: 1 });
  schema.index({ username: 1, 'state.address': 1 });
  schema.index(
    { phone_number_id: 1 },
    { unique: true, partialFilterExpression: { phone_number_id: { $gt: '' } } },
  );
  return schema;
});
