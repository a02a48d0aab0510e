/**
 * Tells of shares that were stopped on harm: an entry in the audit log, and an event for the endpoints of the
 * published version that ask for it. Everything has a fixed id, so a repetition after a crash changes
 * nothing.
 */
import { type ShareWebhookEvent, shareWebhookEvent } from '#protocol/webhook-events.ts';
import type { Context } from '../../platform/context.ts';
import type { ShareDocument, UntoldStop } from '../../platform/store/models/share-model.ts';
import { tellUntold } from '../../platform/store/tell-untold.ts';
import { recordOwnStep } from '../audit/record-own-step.ts';
import { sendAgentEvent } from '../send-agent-event.ts';

/** Tells of every stop that is not told yet. */
export function tellStops(context: Context): Promise<void> {
  return tellUntold(context.models.shares, async (share) => {
    for (const stop of share.untold ?? []) {
      await recordStop(context, share, stop);
      await sendStop(context, share, stop);
    }
  });
}

async function recordStop(context: Context, share: ShareDocument, stop: UntoldStop): Promise<void> {
  await recordOwnStep(context, {
    id: stopId(stop),
    teamId: share.team_id,
    agentId: share._id,
    verb: 'STOP',
    part: 'share',
    requestId: stop.share_id,
    at: stop.end.at,
  });
}

async function sendStop(context: Context, share: ShareDocument, stop: UntoldStop): Promise<void> {
  await sendAgentEvent(context, {
    id: stopId(stop),
    body: eventOf(share, stop),
    teamId: share.team_id,
    sessionId: stop.session_id,
    versionId: stop.beside_id,
  });
}

function stopId({ share_id }: UntoldStop): string {
  return `share-stop:${share_id}`;
}

function eventOf(share: ShareDocument, { share_id, end, arms, ...stop }: UntoldStop): ShareWebhookEvent {
  const harm = end.harm ?? { measure: 'failed', difference: 0, low: 0, high: 0 };
  return shareWebhookEvent.parse({
    event: 'share.stopped',
    share: {
      agent_id: share._id,
      share_id,
      version_number: stop.version_number,
      published_version_number: stop.beside_number,
      stopped_at: end.at.toISOString(),
      ...harm,
      calls: arms.share,
      published_calls: arms.published,
    },
  });
}
