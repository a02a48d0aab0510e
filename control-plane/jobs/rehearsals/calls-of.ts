/** The ended calls that a rehearsal is about. */
import type { RehearsalDocument } from '../../platform/store/models/rehearsal-model.ts';
import { UNDER_WAY_STATUSES } from '../../platform/store/session-status.ts';

/** A filter of sessions. */
export function callsOf({
  team_id,
  agent_id,
  since,
  created_at,
}: Pick<RehearsalDocument, 'team_id' | 'agent_id' | 'since' | 'created_at'>): Record<string, unknown> {
  return {
    team_id,
    agent_id,
    is_listed: true,
    is_preview: false,
    // Expressed as an exclusion, so that the index of kinds is not used: its order is another one.
    status: { $nin: [...UNDER_WAY_STATUSES] },
    created_at: { $gte: since, $lte: created_at },
  };
}
