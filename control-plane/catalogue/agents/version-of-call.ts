/**
 * The version that answers a call: the published one, or for a share of callers the one beside it. Which
 * callers is a hash: one caller always gets the same version while the share lasts, a larger share keeps all
 * callers of a smaller one, and neither agents nor successive shares have anything in common.
 */
import { createHash } from 'node:crypto';
import type { Context } from '../../platform/context.ts';
import type { SessionShare } from '../../platform/store/models/session-share.ts';
import type { ShareDocument } from '../../platform/store/models/share-model.ts';
import type { VersionDocument } from '../../platform/store/models/version-model.ts';
import { newestVersion, versionById } from './newest-version.ts';

/** Bytes of the hash that become a number: a double holds all of them. */
const DRAW_BYTES = 6;

/** The versions that the calls of an agent may have. */
export interface LiveVersions {
  /** The published one; null before the first publication. */
  readonly version: VersionDocument | null;
  /** The newest share, running or not; null if there never was one. */
  readonly share: ShareDocument | null;
}

/** The version of a call. */
export interface CalledVersion {
  readonly version: VersionDocument;
  /** Null without a share. */
  readonly share: SessionShare | null;
}

/** The parts of a call that decide its version. */
export interface DrawnCall {
  /** The caller's number, or a lasting id of the person; empty or null if unknown or withheld. */
  readonly caller: string | null;
  readonly sessionId: string;
}

/** Reads the published version of an agent and its share; both are cached and must not be modified. */
export async function liveVersions(context: Context, agentId: string): Promise<LiveVersions> {
  const [version, share] = await Promise.all([newestVersion(context, agentId), shareOf(context, agentId)]);
  return { version, share };
}

/** The version of a call, `published` unless the share decides otherwise. */
export async function versionOfCall(
  context: Context,
  { version: published, share }: { readonly version: VersionDocument; readonly share: ShareDocument | null },
  call: DrawnCall,
): Promise<CalledVersion> {
  if (!share || !isRunning(share, published)) return { version: published, share: null };
  const arm = isDrawn(share, call) ? 'share' : 'published';
  if (arm === 'published') return { version: published, share: noted(share, arm, published) };
  const version = await versionById(context, share.version_id);
  // Deleted with its agent meanwhile.
  if (!version) return { version: published, share: null };
  return { version, share: noted(share, arm, version) };
}

/** A share lasts until it ends, or another version than the one beside it is published. */
export function isRunning(
  share: Pick<ShareDocument, 'status' | 'beside_id'>,
  published: Pick<VersionDocument, '_id'> | null,
): boolean {
  return share.status === 'running' && share.beside_id === published?._id;
}

/**
 * A number from 0 to below 1 for a caller of an agent, evenly distributed: those below the share get its
 * version.
 */
export function drawOf(agentId: string, shareId: string, caller: string): number {
  const digest = createHash('sha256')
    .update(JSON.stringify([agentId, shareId, caller]))
    .digest();
  return digest.readUIntBE(0, DRAW_BYTES) / 2 ** (8 * DRAW_BYTES);
}

function isDrawn(share: ShareDocument, { caller, sessionId }: DrawnCall): boolean {
  const id = isKnown(caller) ? `caller:${caller}` : `session:${sessionId}`;
  return drawOf(share._id, share.share_id, id) < share.share;
}

/** Carriers write `anonymous` or the like for a withheld number: those callers are not one person. */
function isKnown(caller: string | null): caller is string {
  return (
    caller !== null &&
    caller !== '' &&
    !/^(?:anonymous|unknown|restricted|private|unavailable)$/i.test(caller)
  );
}

function noted(
  share: ShareDocument,
  arm: SessionShare['arm'],
  { version_number }: Pick<VersionDocument, 'version_number'>,
): SessionShare {
  return { id: share.share_id, arm, version_number };
}

async function shareOf(context: Context, agentId: string): Promise<ShareDocument | null> {
  const found = await context.caches.shares(agentId, async () => {
    const share = await context.models.shares.findById(agentId).lean<ShareDocument>();
    return share ? [share] : [];
  });
  return found?.[0] ?? null;
}
