/**
 * Tells of shares that were stopped on harm: an entry in the audit log, and an event for the endpoints of the
 * published version that ask for it. Everything has a fixed id, so a repetition after a crash changes
 * nothing.
 */
import { type ShareWebhookEvent, shareWebhookEvent } from '#protocol/webhook-events.ts';
import { promoteNext } from '../../calls/outbox/relay.ts';
import { loadSession, payloadContext, sealerOf } from '../../calls/sessions/session-store.ts';
import { type Context, now } from '../../platform/context.ts';
import { insertDocuments } from '../../platform/store/insert-documents.ts';
import type { DeliveryDocument } from '../../platform/store/models/delivery-model.ts';
import type { ShareDocument, UntoldStop } from '../../platform/store/models/share-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { readStored } from '../../platform/store/read-stored.ts';

const BATCH = 100;
/** After every other event of the session, whose analysis may be repeated many times. */
const RANK = 1_000_000;
/** The author of an entry that no person has caused. */
const NO_KEY = 'parley';

/** Tells of every stop that is not told yet. */
export async function tellStops(context: Context): Promise<void> {
  const shares = await readStored<ShareDocument>(
    context.models.shares,
    { is_untold: true },
    { limit: BATCH },
  );
  for (const share of shares) {
    for (const stop of share.untold ?? []) {
      await recordStop(context, share, stop);
      await sendStop(context, share, stop);
    }
    // With another stop since, all are told once more.
    await context.models.shares.collection.updateOne(
      { _id: share._id, rev: share.rev } as never,
      { $set: { rev: share.rev + 1 }, $unset: { untold: '', is_untold: '' } } as never,
    );
  }
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
  const [session, version] = await Promise.all([
    loadSession(context, stop.session_id),
    context.models.versions.findById(stop.beside_id).lean<VersionDocument>(),
  ]);
  const sealer = session && sealerOf(context, session);
  const endpoints = (version?.config.webhooks.post_call ?? []).filter(({ extra_events: events }) =>
    events?.includes('share.stopped'),
  );
  // Deliveries are sealed with the key of their session: one that has been erased meanwhile has none.
  if (!version || !sealer || endpoints.length === 0) return;
  const id = `share-stop:${stop.share_id}`;
  const payload = sealer.seal(Buffer.from(JSON.stringify(eventOf(share, stop))), payloadContext(id));
  const at = now(context);
  const deliveries = endpoints.map(
    ({ url }, index): DeliveryDocument => ({
      _id: `${id}:${index}`,
      session_id: stop.session_id,
      team_id: share.team_id,
      event: 'share.stopped',
      url,
      secret: version.secrets.post_call.find((key) => key.url === url)?.sealed ?? null,
      rank: RANK,
      state: 'queued',
      next_at: at,
      lease: null,
      attempts: 0,
      last_attempt_at: null,
      last_result: '',
      payload,
      created_at: at,
      finished_at: null,
    }),
  );
  await insertDocuments(context.models.deliveries, deliveries);
  for (const { url } of endpoints) await promoteNext(context, stop.session_id, url);
  context.workSignals.notify('deliveries');
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
