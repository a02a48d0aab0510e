/** Computes the tags of a stored session, for its record and for the scorecard of its agent. */
import type { SessionItem } from '#protocol/session-record.ts';
import { versionById } from '../../catalogue/agents/newest-version.ts';
import type { Context } from '../../platform/context.ts';
import type { SessionDocument } from '../../platform/store/models/session-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { type CallTag, tagsOf } from '../tags/call-tags.ts';
import { explainSilence } from './silences.ts';

type Parts = Pick<Context, 'models' | 'caches'>;
type Tagged = Pick<
  SessionDocument,
  'status' | 'version_id' | 'started_at' | 'silences' | 'overlaps' | 'media_quality'
>;

/** The tags of a call that has ended; `items` is its timeline. */
export function tagSession(
  session: Tagged,
  items: readonly SessionItem[],
  version: Pick<VersionDocument, 'config'> | null,
): CallTag[] {
  return tagsOf(
    {
      startedAt: session.started_at,
      items,
      silences: (session.silences ?? []).map(explainSilence),
      overlaps: session.overlaps ?? [],
      mediaQuality: session.media_quality ?? null,
    },
    { scorecard: version?.config.scorecard ?? {}, language: version?.config.voice.speaking_language ?? 'en' },
  );
}

/** The tags as a field of the session's record; no field without any, nor before the end or of a preview. */
export async function tagsRecord(
  context: Parts,
  session: Tagged,
  items: readonly SessionItem[],
): Promise<{
  tags?: { tag: CallTag['tag']; count: number; moments: { at_ms: number; evidence: string }[] }[];
}> {
  if (session.status !== 'completed' || session.version_id === '') return {};
  const tags = tagSession(session, items, await versionById(context, session.version_id));
  if (tags.length === 0) return {};
  return {
    tags: tags.map(({ moments, ...tag }) => ({ ...tag, moments: moments.map((one) => ({ ...one })) })),
  };
}
