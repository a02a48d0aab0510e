/**
 * One thing per Idempotency-Key. The key is claimed, together with the id of the future thing, before
 * anything else is written, so a process that is killed at any moment leaves at most one. A request that
 * finds the key of a dead attempt looks for the thing with that id and continues from there. Nothing of an
 * answer is stored: a repetition reads the thing anew.
 */
import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { canonicalJson } from '#base/canonical-json.ts';
import { runInTurns } from '#base/run-steps.ts';
import { Fault, type FaultCode, fault } from '#config/errors.ts';
import { type Context, newId, now } from '../context.ts';
import { isDuplicateKey } from '../store/duplicate-key.ts';
import type { IdempotencyDocument } from '../store/models/idempotency-model.ts';
import { callerOf } from './auth.ts';
import { InvalidRequest } from './problems.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Its key has a result already, so it changed nothing. */
    isRepetition: boolean;
  }
  interface FastifyContextConfig {
    /** Its answer has a secret that is shown only once: a request with an Idempotency-Key is refused. */
    refusesKey?: boolean;
  }
}

/** How long a key is remembered. */
const KEPT_MS = 24 * 60 * 60 * 1000;
/** Writing one document takes well under a second; an attempt older than this is dead. */
const LEASE_MS = 30_000;
/** The same for a thing of many documents. */
export const PARTS_LEASE_MS = 120_000;
/** A key may expire or be released between the insert and the read. */
const CLAIM_ATTEMPTS = 5;
/** Faults after which the thing may come to be: the key is kept, as that of an attempt that was killed. */
const UNCERTAIN: ReadonlySet<FaultCode> = new Set(['provider_silent']);
const MAX_KEY_CHARS = 255;
/** Parts of a long request that are hashed per iteration of the event loop. */
const CHUNK_PARTS = 50;
const HEADER = 'idempotency-key';

/** Headers of a route that knows the key. */
export const keyedHeaders = z.looseObject({ [HEADER]: z.string().min(1).max(MAX_KEY_CHARS).optional() });

/** The state in which an attempt ended: with the thing, without it, or with parts that are given up here. */
export type Left = 'made' | 'nothing' | 'given_up';

/** How a thing is made and found. */
interface KeyedWork<Made> {
  /** Makes it under this id. A second one under the same id must fail with a duplicate key. */
  make(id: string): Promise<Made>;
  /** Reads the thing that was made. Throws `not_found` if it is deleted. */
  find(id: string): Promise<Made>;
  /**
   * Returns the state in which a dead attempt ended; by default, `made` if `find` finds the thing. After
   * `given_up`, the thing gets another id.
   */
  leftBy?(id: string): Promise<Left>;
  /** How long an attempt may take at most. */
  readonly leaseMs?: number;
}

/** A request that may be a repetition. */
export interface KeyedRequest {
  readonly teamId: string;
  readonly key: string;
  /** The content of the request: a key must not be used for two different requests. */
  readonly asks: unknown;
  /** The parts of a list that is too long to be hashed at once. */
  readonly parts?: Iterable<unknown>;
  /** The key has a result already. */
  readonly onRepetition?: () => void;
}

interface Claim {
  readonly madeId: string;
  /** `made`: the thing exists, but its request did not note that before it ended. */
  readonly state: 'not_made' | 'made' | 'done';
  readonly leaseUntil: Date;
}

/** A claim of a key that is to be taken. */
interface Wanted {
  readonly id: string;
  readonly bodyHash: string;
  readonly leaseMs: number;
}

/**
 * Makes what a request asks for, once if it has a key. `parts` is what the request asks for beside its
 * parameters and its body. Throws as `oncePerKey` does.
 */
export function makeOnce<Made>(
  context: Context,
  request: FastifyRequest,
  work: KeyedWork<Made>,
  parts: Iterable<unknown> = [],
): Promise<Made> {
  const key = request.headers[HEADER];
  if (typeof key !== 'string') return work.make(newId());
  const { body, params, routeOptions } = request;
  const asks = { route: routeOptions.url, params, body };
  const onRepetition = () => {
    request.isRepetition = true;
  };
  return oncePerKey(context, { teamId: callerOf(request).teamId, key, asks, parts, onRepetition }, work);
}

/** Throws `idempotency_key_unsupported` if a request has a key that its route must not take. */
export function refuseKey({ headers, routeOptions }: FastifyRequest): void {
  if (routeOptions.config.refusesKey === true && headers[HEADER] !== undefined)
    throw fault('idempotency_key_unsupported');
}

/**
 * Makes a thing unless this key already has one, and returns it. A refused attempt releases the key. Throws
 * `idempotency_key_reuse`, `idempotency_key_conflict`, and whatever the work throws.
 */
export async function oncePerKey<Made>(
  context: Context,
  { teamId, key, asks, parts = [], onRepetition }: KeyedRequest,
  work: KeyedWork<Made>,
): Promise<Made> {
  const { idempotencyKeys } = context.models;
  const bodyHash = await runInTurns(hashing(asks, parts));
  const wanted = { id: `${teamId}:${key}`, bodyHash, leaseMs: work.leaseMs ?? LEASE_MS };
  const claim = await claimKey(context, wanted, work);
  if (claim.state === 'done') {
    onRepetition?.();
    return work.find(claim.madeId);
  }
  const mine = { _id: wanted.id, session_id: claim.madeId };
  const done = () => idempotencyKeys.updateOne(mine, { $set: { state: 'done' } });
  if (claim.state === 'made') {
    await done();
    return work.find(claim.madeId);
  }
  let made: Made;
  try {
    made = await work.make(claim.madeId);
  } catch (error) {
    // The attempt considered dead is still running.
    if (isDuplicateKey(error)) throw fault('idempotency_key_conflict');
    // With the lease: a later request may have taken the key, and still be at work.
    if (isRefusal(error))
      await idempotencyKeys.deleteOne({ ...mine, state: 'in_flight', lease_until: claim.leaseUntil });
    throw error;
  }
  await done();
  return made;
}

async function claimKey<Made>(context: Context, wanted: Wanted, work: KeyedWork<Made>): Promise<Claim> {
  const { idempotencyKeys } = context.models;
  const { id } = wanted;
  for (let attempt = 0; attempt < CLAIM_ATTEMPTS; attempt++) {
    const fresh = freshKey(context, wanted);
    const claim = { madeId: fresh.session_id, state: 'not_made', leaseUntil: fresh.lease_until } as const;
    try {
      await idempotencyKeys.create(fresh);
      return claim;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    const stored = await idempotencyKeys.findById(id).lean<IdempotencyDocument>();
    if (!stored) continue;
    // This write itself was repeated on its way to the store.
    if (stored.session_id === fresh.session_id) return claim;
    // The TTL index deletes keys up to a minute late.
    if (stored.expires_at <= now(context))
      await idempotencyKeys.deleteOne({ _id: id, expires_at: stored.expires_at });
    else return claimStoredKey(context, stored, wanted, work);
  }
  throw fault('idempotency_key_conflict');
}

async function claimStoredKey<Made>(
  context: Context,
  stored: IdempotencyDocument,
  wanted: Wanted,
  work: KeyedWork<Made>,
): Promise<Claim> {
  if (stored.body_hash !== wanted.bodyHash) throw fault('idempotency_key_reuse');
  if (stored.state === 'done')
    return { madeId: stored.session_id, state: 'done', leaseUntil: stored.lease_until };
  if (stored.lease_until > now(context)) throw fault('idempotency_key_conflict');
  const left = await (work.leftBy?.(stored.session_id) ?? isFound(work, stored.session_id));
  const madeId = left === 'given_up' ? newId() : stored.session_id;
  const leaseUntil = leaseFrom(context, wanted);
  const taken = await context.models.idempotencyKeys.updateOne(
    { _id: stored._id, state: 'in_flight', lease_until: stored.lease_until },
    { $set: { session_id: madeId, lease_until: leaseUntil } },
  );
  if (taken.modifiedCount === 0) throw fault('idempotency_key_conflict');
  return { madeId, state: left === 'made' ? 'made' : 'not_made', leaseUntil };
}

/** Whether nothing was made, for certain. */
function isRefusal(error: unknown): boolean {
  return error instanceof InvalidRequest || (error instanceof Fault && !UNCERTAIN.has(error.code));
}

async function isFound<Made>(work: KeyedWork<Made>, id: string): Promise<Left> {
  try {
    await work.find(id);
    return 'made';
  } catch (error) {
    if (error instanceof Fault && error.code === 'not_found') return 'nothing';
    throw error;
  }
}

function freshKey(context: Context, wanted: Wanted): IdempotencyDocument {
  return {
    _id: wanted.id,
    body_hash: wanted.bodyHash,
    state: 'in_flight',
    session_id: newId(),
    lease_until: leaseFrom(context, wanted),
    expires_at: new Date(context.clock.wallTime() + KEPT_MS),
  };
}

function leaseFrom(context: Context, { leaseMs }: Wanted): Date {
  return new Date(context.clock.wallTime() + leaseMs);
}

function* hashing(asks: unknown, parts: Iterable<unknown>): Generator<unknown, string> {
  const hash = createHash('sha256').update(canonicalJson(asks));
  let count = 0;
  for (const part of parts) {
    hash.update('\n').update(canonicalJson(part));
    count += 1;
    if (count % CHUNK_PARTS === 0) yield;
  }
  return hash.digest('hex');
}
