/**
 * Notifies all replicas that a session has changed, for live views. A lost notification only delays an
 * update.
 */
import type { Context } from '../../platform/context.ts';
import type { Coordination } from '../../platform/store/coordination.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';

function channelOf(teamId: string): string {
  return `session-news:${teamId}`;
}

/** Publishes that a session was just stored; does not wait for it. */
export function publishSessionChange(
  context: Pick<Context, 'coordination'>,
  session: Pick<SessionDocument, '_id' | 'team_id' | 'is_listed'>,
): void {
  if (session.is_listed) void context.coordination.publish(channelOf(session.team_id), session._id);
}

/**
 * Calls `listener` with the id of each changed session of a team; resolves with a function that unsubscribes.
 */
export function onSessionChange(
  coordination: Coordination,
  teamId: string,
  listener: (sessionId: string) => void,
): Promise<() => Promise<void>> {
  return coordination.subscribe(channelOf(teamId), (message) => {
    if (typeof message === 'string') listener(message);
  });
}
