/**
 * Accounts and their keys. Each user gets its own team, workspace and wallet. Only the hash of a key is
 * stored.
 */
import { randomBytes } from 'node:crypto';
import { type Context, newId, now } from '../../platform/context.ts';
import { hashKey } from '../../platform/http/auth.ts';
import type { KeyDocument } from '../../platform/store/models/key-model.ts';
import type { UserDocument } from '../../platform/store/models/user-model.ts';
import { withinQuota } from '../limits/quotas.ts';

/** Settings of a new account. */
export interface NewAccount {
  readonly name: string;
  readonly creditMicros: number;
  readonly betaAccess: boolean;
  readonly phoneNumberLimit: number;
}

/** Ledger key of an account's starting credit. */
export const START_KEY = 'start';

/** Creates a user with a wallet and a first key. This is the only time the key is returned. */
export async function createAccount(
  context: Context,
  account: NewAccount,
): Promise<{ user: UserDocument; apiKey: string }> {
  const user: UserDocument = {
    _id: newId(),
    name: account.name,
    team_id: newId(),
    workspace_id: newId(),
    is_root: false,
    beta_access: account.betaAccess,
    phone_number_limit: account.phoneNumberLimit,
    outbound_enabled: true,
    created_at: now(context),
  };
  await context.models.users.create(user);
  await postStartingCredit(context, user._id, account.creditMicros);
  const { apiKey } = await createKey(context, user._id, { name: 'first key', expiresAt: null });
  return { user, apiKey };
}

/** Posts an account's starting credit. Idempotent. */
export async function postStartingCredit(context: Context, userId: string, micros: number): Promise<void> {
  await context.ledger.post({ userId, key: START_KEY, kind: 'top_up', amountMicros: micros });
}

/** Creates a key for a user. This is the only time `apiKey` is returned. Throws `quota_reached`. */
export async function createKey(
  context: Context,
  userId: string,
  key: { readonly name: string; readonly expiresAt: Date | null; readonly mayExportCalls?: boolean },
): Promise<{ keyId: string; apiKey: string }> {
  const apiKey = `pk_${randomBytes(24).toString('hex')}`;
  const keyId = newId();
  const stored = {
    _id: keyId,
    user_id: userId,
    name: key.name,
    hash: hashKey(apiKey),
    is_root: false,
    expires_at: key.expiresAt,
    created_at: now(context),
    ...(key.mayExportCalls === true && { may_export_calls: true as const }),
  };
  await withinQuota(context, { kind: 'keys', owner: userId, id: keyId }, () =>
    context.models.keys.create(stored),
  );
  return { keyId, apiKey };
}

/** Lists a user's keys, newest first. */
export async function listKeys(context: Context, userId: string): Promise<KeyDocument[]> {
  return context.models.keys
    .find({ user_id: userId })
    .sort({ created_at: -1, _id: -1 })
    .lean<KeyDocument[]>();
}
