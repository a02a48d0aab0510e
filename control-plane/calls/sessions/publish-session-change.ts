/**
 * Tells every replica that a session of a team has changed, for those who watch; losing such news costs
 * freshness, never truth.
 */
import type { Context } from '../../platform/context.ts';
import type { Coordination } from '../../platform/store/coordination.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';

function channelOf(teamId: string): string {
  return `session-news:${teamId}`;
}

/** Tells that a session was just stored. Nobody waits for it, and its failure is nobody's. */
export function publishSessionChange(
  context: Pick<Context, 'coordination'>,
  session: Pick<SessionDocument, '_id' | 'team_id' | 'is_listed'>,
): void {
  if (session.is_listed)
    context.coordination.publish(channelOf(session.team_id), session._id).catch(() => undefined);
}

/** Calls `listener` with the id of each session of a team that changes; resolves with the end of it. */
export function onSessionChange(
  coordination: Coordination,
  teamId: string,
  listener: (sessionId: string) => void,
): Promise<() => Promise<void>> {
  return coordination.subscribe(channelOf(teamId), (message) => {
    if (typeof message === 'string') listener(message);
  });
}
