/**
 * Finds stored sessions; every query includes the team. Previews and refused creations are not part of the
 * history.
 */
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';

/** Finds a session in a team's history. Throws `not_found`. */
export async function findSession(
  context: Context,
  teamId: string,
  sessionId: string,
): Promise<SessionDocument> {
  const session = await context.models.sessions
    .findOne({ _id: sessionId, team_id: teamId, is_listed: true, status: { $ne: 'creating' } })
    .lean<SessionDocument>();
  if (!session) throw fault('not_found');
  return session;
}

/** Finds a preview of an agent. Throws `not_found`. */
export async function findPreview(
  context: Context,
  ids: { teamId: string; agentId: string; sessionId: string },
): Promise<SessionDocument> {
  const session = await context.models.sessions
    .findOne({ _id: ids.sessionId, team_id: ids.teamId, agent_id: ids.agentId, is_preview: true })
    .lean<SessionDocument>();
  if (!session) throw fault('not_found');
  return session;
}
