/** Failures of connections to MCP servers. */
import { EgressRefused } from '#base/egress.ts';

/** A failure of a connection. Its message names no header and no address and may be shown to tenants. */
export class McpFailure extends Error {
  /** False when the server itself refused one request: the next one may succeed on the same connection. */
  readonly isLost: boolean;
  /** The server did not run the request, because it no longer knows the session. */
  readonly isSessionGone: boolean;

  constructor(
    message: string,
    { isLost, isSessionGone = false }: { readonly isLost: boolean; readonly isSessionGone?: boolean },
  ) {
    super(message);
    this.name = 'McpFailure';
    this.isLost = isLost;
    this.isSessionGone = isSessionGone;
  }
}

/** Words for a request that got no answer; null for an unknown reason, such as an abort. */
export function networkText(error: unknown): string | null {
  for (const each of [error, error instanceof Error ? error.cause : null]) {
    if (each instanceof EgressRefused) return each.message;
    const code = each instanceof Error && 'code' in each ? each.code : null;
    if (typeof code === 'string' && /^[A-Z][A-Z_]{1,40}$/.test(code))
      return `the connection failed (${code})`;
  }
  return null;
}
