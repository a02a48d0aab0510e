/**
 * Tells the endpoints of the published version that ask for it of alerts that were opened or closed.
 * Everything has a fixed id, so a repetition after a crash changes nothing.
 */
import { type ScorecardWebhookEvent, scorecardWebhookEvent } from '#protocol/webhook-events.ts';
import type { Context } from '../../platform/context.ts';
import type { ScoreWatchDocument, StoredAlert } from '../../platform/store/models/scorecard-model.ts';
import { tellUntold } from '../../platform/store/tell-untold.ts';
import { sendAgentEvent } from '../send-agent-event.ts';

/** Tells of everything that is not told yet. */
export function tellAlerts(context: Context): Promise<void> {
  return tellUntold(context.models.scoreWatches, (watch) => tell(context, watch));
}

async function tell(context: Context, watch: ScoreWatchDocument): Promise<void> {
  for (const { alert, session_id, version_id } of watch.untold ?? [])
    await sendAgentEvent(context, {
      id: `scorecard-alert:${alert.alert_id}:${stateOf(alert)}`,
      body: eventOf(watch._id, alert),
      teamId: watch.team_id,
      sessionId: session_id,
      versionId: version_id,
    });
}

function stateOf({ closed_at }: StoredAlert): 'open' | 'closed' {
  return closed_at === null ? 'open' : 'closed';
}

function eventOf(agentId: string, alert: StoredAlert): ScorecardWebhookEvent {
  return scorecardWebhookEvent.parse({
    event: 'scorecard.alert',
    alert: { agent_id: agentId, state: stateOf(alert), ...alertRecord(alert) },
  });
}

/** An alert as API and webhooks show it. */
export function alertRecord(alert: StoredAlert) {
  const { alert_id, rate, side, limit, calls, hits } = alert;
  return {
    ...{ alert_id, rate, side, limit, calls, hits },
    observed: calls === 0 ? 0 : hits / calls,
    since: alert.since.toISOString(),
    opened_at: alert.opened_at.toISOString(),
    closed_at: alert.closed_at?.toISOString() ?? null,
    close_reason: alert.close_reason,
  };
}
