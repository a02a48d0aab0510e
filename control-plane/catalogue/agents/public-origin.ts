/** Keyless access to an agent: requires `public_enabled` and an allowed origin. */
import { fault } from '#config/errors.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';

/** Throws a 403 unless pages of this origin may use the agent without a key. */
export function requirePublicOrigin(
  agent: Pick<AgentDocument, 'public_enabled' | 'allowed_origins' | 'status'>,
  origin: string | undefined,
): void {
  if (!agent.public_enabled || agent.status === 'archived') throw fault('agent_not_public');
  if (origin === undefined || origin === '') throw fault('origin_required');
  const caller = normalOrigin(origin);
  if (caller === null || !agent.allowed_origins.some((allowed) => normalOrigin(allowed) === caller))
    throw fault('origin_not_allowed');
}

/**
 * True for a single origin. Wildcards are rejected because origins are compared exactly (scheme, host and
 * port) and they would never match.
 */
export function isOrigin(text: string): boolean {
  return normalOrigin(text) !== null && !text.includes('*');
}

/**
 * Normalises an origin to scheme, lower-case host and port; null if invalid. A trailing slash is tolerated.
 */
function normalOrigin(text: string): string | null {
  if (!/^https?:\/\/[^/?#@\s]+\/?$/i.test(text)) return null;
  try {
    return new URL(text).origin;
  } catch {
    return null;
  }
}
