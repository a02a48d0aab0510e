/** What went wrong, for the visitor and for whoever built the page. */
import type { Texts } from './languages.ts';

/** What `voice-agent:error` says. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly statusCode: number | null;
}

const TEXT_OF: Readonly<Record<string, keyof Texts>> = {
  mic_permission_denied: 'microphoneBlocked',
  origin_forbidden: 'notAllowed',
  agent_not_public: 'notAllowed',
  session_expired: 'expired',
  connection_failed: 'unreachable',
};
const TOO_MANY_REQUESTS = 429;
/** Refusals that are the agent's owner's business: out of credit, not published, at its limit. */
const UNAVAILABLE = new Set([402, 403, 404, 409, 502, 503]);

/** Anything thrown, as a problem. */
export function problemOf(error: unknown): Problem {
  const { code, statusCode } = (error ?? {}) as Partial<Problem>;
  return {
    code: typeof code === 'string' ? code : 'session_request_failed',
    message: error instanceof Error ? error.message : String(error),
    statusCode: typeof statusCode === 'number' ? statusCode : null,
  };
}

/** True where there is no microphone that could be allowed. */
export function lacksMicrophone(error: unknown): boolean {
  return (
    error instanceof Error && error.cause instanceof DOMException && error.cause.name === 'NotFoundError'
  );
}

/** Which text tells the visitor. */
export function visitorText({ code, statusCode }: Problem): keyof Texts {
  const text = TEXT_OF[code];
  if (text) return text;
  if (statusCode === TOO_MANY_REQUESTS) return 'tooMany';
  return statusCode !== null && UNAVAILABLE.has(statusCode) ? 'unavailable' : 'failed';
}

/** What whoever built the page can do about it; empty where the message says it all. */
export function developerHint({ code }: Problem, origin: string): string {
  if (code === 'origin_forbidden') return `Add "${origin}" to the agent's allowed_origins.`;
  if (code === 'agent_not_public')
    return 'Set public_enabled on the agent, or give the element a sessionTokenProvider.';
  if (code === 'session_expired')
    return 'Have sessionTokenProvider ask for a new session each time it is called.';
  return '';
}
