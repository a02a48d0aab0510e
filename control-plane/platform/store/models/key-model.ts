/** API keys, stored only as hashes. */
import { Schema } from 'mongoose';
import { modelOf } from '../schema.ts';

/** An API key of a user. */
export interface KeyDocument {
  _id: string;
  user_id: string;
  name: string;
  /** Hex SHA-256 of the key. */
  hash: string;
  is_root: boolean;
  expires_at: Date | null;
  created_at: Date;
  /** It may export calls to files; absent otherwise. The root key may in any case. */
  may_export_calls?: true;
}

/** True from the time on at which a key expires. */
export function hasExpired({ expires_at }: Pick<KeyDocument, 'expires_at'>, at: Date): boolean {
  return expires_at !== null && expires_at <= at;
}

/** Defines the model on a connection. */
export const defineKeys = modelOf<KeyDocument>('Key', () => {
  const schema = new Schema<KeyDocument>(
    {
      _id: { type: String, required: true },
      user_id: { type: String, required: true },
      name: { type: String, required: true },
      hash: { type: String, required: true },
      is_root: { type: Boolean, default: false },
      expires_at: { type: Date, default: null },
      created_at: { type: Date, required: true },
      may_export_calls: { type: Boolean },
    },
    { collection: 'keys', versionKey: false },
  );
  schema.index({ hash: 1 }, { unique: true });
  schema.index({ user_id: 1, created_at: -1 });
  return schema;
});
