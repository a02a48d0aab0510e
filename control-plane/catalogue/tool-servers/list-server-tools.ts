/** Reads the tools of a tenant's MCP server: connects, lists, and ends the connection. */
import { fault } from '#config/errors.ts';
import { LIMITS } from '#config/limits.ts';
import { openMcpConnection } from '#protocol/mcp-connection.ts';
import { McpFailure } from '#protocol/mcp-failure.ts';
import { McpTokens } from '#protocol/mcp-tokens.ts';
import type { ListedTools } from '#protocol/server-tools.ts';
import { renderHeaders } from '#protocol/tool-template.ts';
import type { Context } from '../../platform/context.ts';
import type { ToolServerDocument } from '../../platform/store/models/tool-server-model.ts';
import { openHeaders, openOauth } from './plan-tool-servers.ts';

/** There is no call, so no placeholder of a header has a value. */
const NO_CALL = { variables: {}, systemVariables: {}, arguments: {} };
/** A person waits here, and no caller. */
const READ_MS = 2 * LIMITS.serverConnectMs;

/** A server's description of itself. */
export interface ServerReading extends ListedTools {
  readonly protocolVersion: string;
}

/** Reads a server's tools. Throws `tool_server_failed` with the reason. */
export async function listServerTools(
  { egress, clock, secretBox }: Pick<Context, 'egress' | 'clock' | 'secretBox'>,
  server: ToolServerDocument,
): Promise<ServerReading> {
  const deadline = new AbortController();
  const seconds = Math.round(READ_MS / 1_000);
  const timer = clock.after(READ_MS, () => deadline.abort(new Error(`no answer within ${seconds} s`)));
  const headers = renderHeaders(openHeaders(secretBox, server.headers), NO_CALL);
  try {
    const connection = await openMcpConnection({
      server: {
        tool_server_id: server._id,
        url: server.url,
        oauth: openOauth(secretBox, server.oauth),
      },
      headers: () => headers,
      egress,
      // A person tests the credentials: a kept token would hide that they are wrong.
      tokens: new McpTokens(clock),
      clock,
      signal: deadline.signal,
    });
    try {
      return {
        protocolVersion: connection.protocolVersion,
        ...(await connection.listTools(deadline.signal)),
      };
    } finally {
      void connection.close();
    }
  } catch (error) {
    if (error instanceof McpFailure || deadline.signal.aborted)
      throw fault('tool_server_failed', { detail: (error as Error).message });
    throw error;
  } finally {
    timer.cancel();
  }
}
