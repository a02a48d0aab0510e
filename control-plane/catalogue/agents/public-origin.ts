/** Who may use an agent without a key: its public switch and its allowed origins. */
import { fault } from '#config/errors.ts';
import type { AgentDocument } from '../../platform/store/models/agent-model.ts';

/** Throws a 403 unless a page of this origin may use the agent without a key. */
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

/** True for one origin; a wildcard is none: it would match nothing (the exact scheme, host and port). */
export function isOrigin(text: string): boolean {
  return normalOrigin(text) !== null && !text.includes('*');
}

/** An origin as scheme, lower-case host and port; null for what is none. A trailing slash is tolerated. */
function normalOrigin(text: string): string | null {
  if (!/^https?:\/\/[^/?#@\s]+\/?$/i.test(text)) return null;
  try {
    return new URL(text).origin;
  } catch {
    return null;
  }
}
