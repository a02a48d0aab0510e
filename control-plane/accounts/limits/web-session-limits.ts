/**
 * Per-account limits on web sessions that occupy workers at no cost: live previews, sessions not yet joined,
 * and the rate at which either is created.
 */
import { Fault, fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import { requireRate } from '../../platform/limits/rate.ts';
import { UNDER_WAY_STATUSES } from '../../platform/store/session-status.ts';
import { type CountedSessions, holdingPlaces } from './session-places.ts';

/** A preview lasts ten minutes at most and may end at any moment. */
const PREVIEW_RETRY_SECONDS = 10;

type Parts = Pick<Context, 'models' | 'clock' | 'settings' | 'coordination'>;

/** A web session that is about to be created. */
export interface NewWebSession {
  readonly sessionId: string;
  readonly userId: string;
  readonly kind: 'preview' | 'own' | 'visitor';
}

/**
 * Creates a session within the account's limits. Throws `too_many_at_once` or `too_many_a_minute`
 * (`rate_limited` for a visitor), and whatever
 * `create` throws. Visitors' sessions do not count against the account's own limits.
 */
export async function withinWebSessionLimits<Created>(
  context: Parts,
  session: NewWebSession,
  create: () => Promise<Created>,
): Promise<Created> {
  try {
    const limits =
      session.kind === 'preview' ? previewLimits(context, session) : unjoinedLimits(context, session);
    await requireRate(context, {
      key: `${session.kind}-sessions:${session.userId}`,
      limit: limits.perMinute,
      what: limits.what,
    });
    return await holdingPlaces(context, { counted: [limits.places], sessionId: session.sessionId }, create);
  } catch (error) {
    // Hide the owner's load from visitors.
    const isRefused =
      error instanceof Fault && (error.code === 'too_many_at_once' || error.code === 'too_many_a_minute');
    throw isRefused && session.kind === 'visitor'
      ? fault('rate_limited', { seconds: error.retryAfterSeconds ?? 1 })
      : error;
  }
}

interface WebSessionLimits {
  readonly places: CountedSessions;
  readonly perMinute: number;
  readonly what: string;
}

function previewLimits({ settings }: Parts, { userId }: NewWebSession): WebSessionLimits {
  const { LIMIT_PREVIEWS: limit, LIMIT_PREVIEWS_PER_MINUTE: perMinute } = settings;
  const refusal = fault('too_many_at_once', {
    limit,
    what: 'live previews',
    remedy: 'end one',
    seconds: PREVIEW_RETRY_SECONDS,
  });
  return {
    places: { id: `previews:${userId}`, limit, statuses: UNDER_WAY_STATUSES, refusal },
    perMinute,
    what: 'new previews',
  };
}

function unjoinedLimits({ settings }: Parts, { userId, kind }: NewWebSession): WebSessionLimits {
  const {
    LIMIT_UNJOINED_SESSIONS: limit,
    LIMIT_SESSIONS_PER_MINUTE: perMinute,
    SESSION_JOIN_SECONDS: seconds,
  } = settings;
  const refusal = fault('too_many_at_once', {
    limit,
    what: 'sessions nobody has joined yet',
    remedy: 'join or end some',
    seconds,
  });
  return {
    places: { id: `unjoined:${kind}:${userId}`, limit, statuses: ['creating', 'pending'], refusal },
    perMinute,
    what: 'new sessions',
  };
}
