/**
 * Finds stored sessions, archived or not; every query includes the team. Previews and refused creations are
 * not part of the history.
 */
import { fault } from '#config/errors.ts';
import type { Context } from '../../platform/context.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import { findOneSession } from '../../platform/store/session-archive.ts';

/** Finds a session in a team's history. Throws `not_found`. */
export async function findSession(
  context: Context,
  teamId: string,
  sessionId: string,
): Promise<SessionDocument> {
  const session = await findOneSession(context, {
    _id: sessionId,
    team_id: teamId,
    is_listed: true,
    status: { $ne: 'creating' },
  });
  if (!session) throw fault('not_found');
  return session;
}

/** Finds a preview of an agent. Throws `not_found`. */
export async function findPreview(
  context: Context,
  ids: { teamId: string; agentId: string; sessionId: string },
): Promise<SessionDocument> {
  const { sessionId: _id, teamId: team_id, agentId: agent_id } = ids;
  const session = await findOneSession(context, { _id, team_id, agent_id, is_preview: true });
  if (!session) throw fault('not_found');
  return session;
}
