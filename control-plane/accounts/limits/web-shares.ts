/**
 * Per-account limits on web sessions that occupy workers at no cost: live previews, sessions not yet joined,
 * and the rate at which either is created.
 */
import { Fault, fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import { requireRate } from '../../platform/limits/rate.ts';
import { UNDER_WAY_STATUSES } from '../../platform/store/session-status.ts';
import { type CountedSessions, holdingPlaces } from './session-places.ts';

/** A preview lasts at most minutes and may end at any moment. */
const PREVIEW_RETRY_SECONDS = 10;

type Parts = Pick<Context, 'models' | 'clock' | 'settings' | 'coordination'>;

/** A web session that is about to be created. */
export interface SharedSession {
  readonly sessionId: string;
  readonly userId: string;
  readonly kind: 'preview' | 'own' | 'visitor';
}

/**
 * Creates a session within the account's share. Throws `too_many_at_once`, `too_many_a_minute` and whatever
 * `create` throws. Visitors' sessions do not use up the account's own share.
 */
export async function withinShare<Created>(
  context: Parts,
  session: SharedSession,
  create: () => Promise<Created>,
): Promise<Created> {
  try {
    const share = session.kind === 'preview' ? previews(context, session) : unjoined(context, session);
    await requireRate(context, {
      key: `${session.kind}-sessions:${session.userId}`,
      limit: share.perMinute,
      what: share.what,
    });
    return await holdingPlaces(context, { counted: [share.places], sessionId: session.sessionId }, create);
  } catch (error) {
    // Hide the owner's load from visitors.
    const isRefused =
      error instanceof Fault && (error.code === 'too_many_at_once' || error.code === 'too_many_a_minute');
    throw isRefused && session.kind === 'visitor'
      ? fault('rate_limited', { seconds: error.retryAfterSeconds ?? 1 })
      : error;
  }
}

interface Share {
  readonly places: CountedSessions;
  readonly perMinute: number;
  readonly what: string;
}

function previews({ settings }: Parts, { userId }: SharedSession): Share {
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

function unjoined({ settings }: Parts, { userId, kind }: SharedSession): Share {
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
