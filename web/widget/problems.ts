/** Errors in words for visitors and for the page's developer. */
import type { Texts } from './languages/texts.ts';

/** Detail of the event `voice-agent:error`. */
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
/** Refusals that only the agent's owner can resolve: out of credit, not published, at its limit. */
const UNAVAILABLE = new Set([402, 403, 404, 409, 502, 503]);

/** Converts any thrown value to a problem. */
export function problemOf(error: unknown): Problem {
  const { code, statusCode } = (error ?? {}) as Partial<Problem>;
  return {
    code: typeof code === 'string' ? code : 'session_request_failed',
    message: error instanceof Error ? error.message : String(error),
    statusCode: typeof statusCode === 'number' ? statusCode : null,
  };
}

/** True if the device has no microphone. */
export function lacksMicrophone(error: unknown): boolean {
  return (
    error instanceof Error && error.cause instanceof DOMException && error.cause.name === 'NotFoundError'
  );
}

/** Name of the text to show to the visitor. */
export function visitorText({ code, statusCode }: Problem): keyof Texts {
  const text = TEXT_OF[code];
  if (text) return text;
  if (statusCode === TOO_MANY_REQUESTS) return 'tooMany';
  return statusCode !== null && UNAVAILABLE.has(statusCode) ? 'unavailable' : 'failed';
}

/** What the page's developer can do about it; empty if the message is sufficient. */
export function developerHint({ code }: Problem, origin: string): string {
  if (code === 'origin_forbidden') return `Add "${origin}" to the agent's allowed_origins.`;
  if (code === 'agent_not_public')
    return 'Set public_enabled on the agent, or give the element a sessionTokenProvider.';
  if (code === 'session_expired')
    return 'sessionTokenProvider must request a new session each time it is called.';
  return '';
}
