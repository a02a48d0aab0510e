/**
 * Phones that register here. Of the password only the digest secrets are stored, sealed; it cannot be shown
 * again.
 */
import { Schema } from 'mongoose';
import type { PhoneBinding } from '#telephony/registration/phone-bindings.ts';
import { modelOf } from '../schema.ts';

/** A phone, or softphone, of a person; several devices may register as the same one. */
export interface SipPhoneDocument {
  _id: string;
  team_id: string;
  workspace_id: string;
  /** Its number within the team, which agents' extensions share. */
  extension: string;
  display_name: string;
  /** Unique in the deployment: it identifies the account too. */
  username: string;
  /** JSON of `DigestSecrets`, sealed. */
  secrets: string;
  may_call_agents: boolean;
  /** The last renewed ones last; some may have run out. */
  bindings: PhoneBinding[];
  /** Counts the changes of bindings and secrets. */
  rev: number;
  /** The last wrong password; absent until there was one. */
  last_refused?: { at: Date; address: string };
  created_at: Date;
  updated_at: Date;
}

/** Defines the model on a connection. */
export const defineSipPhones = modelOf<SipPhoneDocument>('SipPhone', () => {
  const schema = new Schema<SipPhoneDocument>(
    {
      _id: { type: String, required: true },
      team_id: { type: String, required: true },
      workspace_id: { type: String, required: true },
      extension: { type: String, required: true },
      display_name: { type: String, default: '' },
      username: { type: String, required: true },
      secrets: { type: String, required: true },
      may_call_agents: { type: Boolean, default: true },
      bindings: { type: Schema.Types.Mixed, required: true },
      rev: { type: Number, default: 0 },
      last_refused: { type: Schema.Types.Mixed },
      created_at: { type: Date, required: true },
      updated_at: { type: Date, required: true },
    },
    { collection: 'sip_phones', versionKey: false, minimize: false },
  );
  schema.index({ username: 1 }, { unique: true });
  schema.index({ team_id: 1, extension: 1 }, { unique: true });
  schema.index({ team_id: 1, created_at: -1, _id: -1 });
  return schema;
});
