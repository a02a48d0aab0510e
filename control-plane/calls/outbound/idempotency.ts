/**
 * One call per Idempotency-Key. The key is claimed, together with the id of the future session, before
 * anything else is written. A request that finds the key of a dead attempt checks the state of that session
 * and continues from there.
 */
import { createHash } from 'node:crypto';
import { canonicalJson } from '#base/canonical-json.ts';
import { Fault, fault } from '#config/errors.ts';
import { type Context, newId, now } from '../../platform/context.ts';
import { InvalidRequest } from '../../platform/http/problems.ts';
import { isDuplicateKey } from '../../platform/store/duplicate-key.ts';
import type { IdempotencyDocument } from '../../platform/store/models/idempotency-model.ts';
import { voidHold } from '../sessions/charge.ts';
import { isBeingGivenUp, refuseSession } from '../sessions/give-up-creation.ts';
import { loadSession } from '../sessions/session-store.ts';

/** How long a key is remembered. */
const KEPT_MS = 24 * 60 * 60 * 1000;
/** Placing a call takes well under a second; an attempt older than this is dead. */
const LEASE_MS = 30_000;
/** A key may expire or be released between the insert and the read. */
const CLAIM_ATTEMPTS = 5;

/** A request that may be a repetition. */
export interface KeyedRequest {
  readonly teamId: string;
  readonly key: string;
  readonly body: unknown;
}

interface Claim {
  readonly sessionId: string;
  /** An earlier request has already placed the call. */
  readonly isPlaced: boolean;
}

/**
 * Places a call unless this key already has one, and returns its session id. A refused attempt releases the
 * key. Throws `idempotency_key_reuse`, `idempotency_key_conflict`, and whatever `place` throws.
 */
export async function placeOncePerKey(
  context: Context,
  request: KeyedRequest,
  place: (sessionId: string) => Promise<void>,
): Promise<string> {
  const { idempotencyKeys } = context.models;
  const id = `${request.teamId}:${request.key}`;
  const claim = await claimKey(context, id, hashOf(request.body));
  const mine = { _id: id, session_id: claim.sessionId };
  if (!claim.isPlaced) {
    try {
      await place(claim.sessionId);
    } catch (error) {
      // The attempt considered dead is still running.
      if (isDuplicateKey(error)) throw fault('idempotency_key_conflict');
      if (error instanceof Fault || error instanceof InvalidRequest)
        await idempotencyKeys.deleteOne({ ...mine, state: 'in_flight' });
      throw error;
    }
  }
  await idempotencyKeys.updateOne(mine, { $set: { state: 'done' } });
  return claim.sessionId;
}

async function claimKey(context: Context, id: string, bodyHash: string): Promise<Claim> {
  const { idempotencyKeys } = context.models;
  for (let attempt = 0; attempt < CLAIM_ATTEMPTS; attempt++) {
    const fresh = freshKey(context, id, bodyHash);
    try {
      await idempotencyKeys.create(fresh);
      return { sessionId: fresh.session_id, isPlaced: false };
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    const stored = await idempotencyKeys.findById(id).lean<IdempotencyDocument>();
    if (!stored) continue;
    // The TTL index deletes keys up to a minute late.
    if (stored.expires_at <= now(context))
      await idempotencyKeys.deleteOne({ _id: id, expires_at: stored.expires_at });
    else return claimStoredKey(context, stored, bodyHash);
  }
  throw fault('idempotency_key_conflict');
}

async function claimStoredKey(
  context: Context,
  stored: IdempotencyDocument,
  bodyHash: string,
): Promise<Claim> {
  if (stored.body_hash !== bodyHash) throw fault('idempotency_key_reuse');
  if (stored.state === 'done') return { sessionId: stored.session_id, isPlaced: true };
  if (stored.lease_until > now(context)) throw fault('idempotency_key_conflict');
  const found = await resolveDeadAttempt(context, stored.session_id);
  const sessionId = found === 'given_up' ? newId() : stored.session_id;
  const taken = await context.models.idempotencyKeys.updateOne(
    { _id: stored._id, state: 'in_flight', lease_until: stored.lease_until },
    { $set: { session_id: sessionId, lease_until: leaseFrom(context) } },
  );
  if (taken.modifiedCount === 0) throw fault('idempotency_key_conflict');
  return { sessionId, isPlaced: found === 'placed' };
}

/**
 * Determines what a dead attempt left behind: a placed call, nothing, or an unfinished session, which is
 * given up and refunded here.
 */
export async function resolveDeadAttempt(
  context: Context,
  sessionId: string,
): Promise<'placed' | 'nothing' | 'given_up'> {
  const session = await loadSession(context, sessionId);
  if (!session) return 'nothing';
  if (session.status === 'creating') await voidHold(context, session);
  else if (session.status === 'pending' && (session.worker === null || isBeingGivenUp(context, sessionId)))
    await refuseSession(context, sessionId);
  return (await loadSession(context, sessionId))?.is_listed ? 'placed' : 'given_up';
}

function freshKey(context: Context, id: string, bodyHash: string): IdempotencyDocument {
  const expiresAt = new Date(context.clock.wallTime() + KEPT_MS);
  return {
    _id: id,
    body_hash: bodyHash,
    state: 'in_flight',
    session_id: newId(),
    lease_until: leaseFrom(context),
    expires_at: expiresAt,
  };
}

function leaseFrom(context: Context): Date {
  return new Date(context.clock.wallTime() + LEASE_MS);
}

function hashOf(body: unknown): string {
  return createHash('sha256').update(canonicalJson(body)).digest('hex');
}
