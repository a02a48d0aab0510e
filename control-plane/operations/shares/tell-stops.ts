/**
 * Tells of shares that were stopped on harm: an entry in the audit log, and an event for the endpoints of the
 * published version that ask for it. Everything has a fixed id, so a repetition after a crash changes
 * nothing.
 */
import { type ShareWebhookEvent, shareWebhookEvent } from '#protocol/webhook-events.ts';
import type { Context } from '../../platform/context.ts';
import { insertDocuments } from '../../platform/store/insert-documents.ts';
import type { ShareDocument, UntoldStop } from '../../platform/store/models/share-model.ts';
import { tellUntold } from '../../platform/store/tell-untold.ts';
import { sendAgentEvent } from '../send-agent-event.ts';

/** The author of an entry that no person has caused. */
const NO_KEY = 'parley';

/** Tells of every stop that is not told yet. */
export function tellStops(context: Context): Promise<void> {
  return tellUntold(context.models.shares, async (share) => {
    for (const stop of share.untold ?? []) {
      await recordStop(context, share, stop);
      await sendStop(context, share, stop);
    }
  });
}

async function recordStop({ models }: Context, share: ShareDocument, stop: UntoldStop): Promise<void> {
  await insertDocuments(models.auditLog, [
    {
      _id: `share-stop:${stop.share_id}`,
      team_id: share.team_id,
      user_id: NO_KEY,
      key_id: NO_KEY,
      action: 'STOP /v1/agent/agents/{agent_id}/share',
      resource: 'agents',
      resource_id: share._id,
      fields: ['share'],
      request_id: stop.share_id,
      created_at: stop.end.at,
    },
  ]);
}

async function sendStop(context: Context, share: ShareDocument, stop: UntoldStop): Promise<void> {
  await sendAgentEvent(context, {
    id: `share-stop:${stop.share_id}`,
    body: eventOf(share, stop),
    teamId: share.team_id,
    sessionId: stop.session_id,
    versionId: stop.beside_id,
  });
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
